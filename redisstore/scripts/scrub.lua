-- scrub compares instances with the indexes and repairs what differs (store.Store.Scrub).
-- KEYS: time, ready, due, closed, seen, index, meta, then the instances
-- ARGV: ..., 1 to adopt the partition, 2 to do so if writes were lost and nobody has since, an id of the call, then member
--       and slot of each
-- Reply: OK, then what was wrong, and 1 if it was adopted
-- include record
local DAY = 86400000
local indexes = {ready = KEYS[2], due = KEYS[3], closed = KEYS[4]}
local seen, slots, meta, lost = KEYS[5], KEYS[6], KEYS[7], seq < SEEN
local how, id = ARGV[ARGS], ARGV[ARGS + 1]
if how == '2' and redis.call('HGET', meta, 'adopted') == id then -- the answer was lost
  return reply('OK', {}, 1)
end
local adopt = how == '1' or how == '2' and lost

local repaired, changed = {}, false
if adopt and lost then
  seq = SEEN
  redis.call('HINCRBY', meta, 'losses', 1)
  redis.call('HSET', meta, 'adopted', id)
  changed = true
end
local members, scores = {}, {} -- where each stands
for n = 1, #KEYS - 7 do members[n] = ARGV[ARGS + 2 * n] end
if #members > 0 then
  for name, key in pairs(indexes) do scores[name] = redis.call('ZMSCORE', key, unpack(members)) end
end
for n, member in ipairs(members) do
  local slot, instance = ARGV[ARGS + 2 * n + 1], KEYS[7 + n]
  local r = kept(instance)
  if not r and #redis.call('XRANGE', slots, slot, slot) > 0 then -- otherwise it has been removed meanwhile
    repaired[#repaired + 1] = member .. ': its record cannot be read'
  elseif r then
    if adopt and r.lease ~= 0 then
      r.lease = 0
      wake(r)
      if r.reason == 'quarantined' then r.ready = now - URGENCY end -- it has to be looked at again
      redis.call('HSET', instance, 'k', text(r))
    end
    local index, score = place(r)
    for name, key in pairs(indexes) do
      local is = scores[name][n]
      if name ~= index and is then
        redis.call('ZREM', key, member)
        if not adopt then repaired[#repaired + 1] = member .. ': stood in ' .. name end
      elseif name == index and tonumber(is or '') ~= tonumber(score == '+inf' and math.huge or score) then
        redis.call('ZADD', key, score == '+inf' and score or format('%d', score), member)
        if not adopt then repaired[#repaired + 1] = member .. (is and ': stood at a wrong place in ' or ': was missing in ') .. name end
        changed = true
      end
    end
  end
end
redis.call('ZREMRANGEBYSCORE', seen, '-inf', format('(%d', now - DAY))
if #repaired > 0 then redis.call('HINCRBY', meta, 'repairs', #repaired) end
if changed or #repaired > 0 then
  wrote()
  hint()
end
return reply('OK', repaired, adopt and 1 or 0)
