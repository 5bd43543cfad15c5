-- scrub compares instances with the indexes and repairs what differs (runtime.Store.Scrub).
-- KEYS: meta, ready, due, closed, seen, then the instances
-- ARGV: ..., 1 to adopt the partition, 2 to do so if writes were lost and nobody has since, then the members
-- Reply: OK, then what was wrong, and 1 if it was adopted
-- include record
local DAY = 86400000
local indexes = {ready = KEYS[2], due = KEYS[3], closed = KEYS[4]}
local seen, lost = KEYS[5], seq < SEEN
local adopt = ARGV[ARGS] == '1' or ARGV[ARGS] == '2' and lost

local repaired, changed = {}, false
if adopt and lost then
  seq = SEEN
  redis.call('HINCRBY', meta, 'losses', 1)
  changed = true
end
for n = 1, #KEYS - 5 do
  local member, instance = ARGV[ARGS + n], KEYS[5 + n]
  local r = kept(instance)
  if not r then
    repaired[#repaired + 1] = member .. ': its record cannot be read'
  else
    if adopt and r.lease ~= 0 then
      r.lease = 0
      wake(r)
      redis.call('HSET', instance, 'k', text(r))
    end
    local index, score = place(r)
    for name, key in pairs(indexes) do
      local is = redis.call('ZSCORE', key, member)
      if name ~= index and is then
        redis.call('ZREM', key, member)
        if not adopt then repaired[#repaired + 1] = member .. ': stood in ' .. name end
      elseif name == index and tonumber(is or '') ~= tonumber(score == '+inf' and math.huge or score) then
        redis.call('ZADD', key, score == '+inf' and score or string.format('%d', score), member)
        if not adopt then repaired[#repaired + 1] = member .. ': was missing in ' .. name end
        changed = true
      end
    end
  end
end
redis.call('ZREMRANGEBYSCORE', seen, '-inf', string.format('(%d', now - DAY))
if #repaired > 0 then redis.call('HINCRBY', meta, 'repairs', #repaired) end
if changed or #repaired > 0 then
  wrote()
  hint()
end
return reply('OK', repaired, adopt and 1 or 0)
