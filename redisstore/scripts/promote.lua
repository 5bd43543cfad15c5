-- promote makes instances ready whose time has come (store.Store.Promote).
-- KEYS: time, ready, due, then the instances
-- ARGV: ..., then the members
-- Reply: OK, number of instances that became ready, when the next one is due or 0
-- include record
local indexes = {ready = KEYS[2], due = KEYS[3]}

local ready, changed = 0, false
for n = 1, #KEYS - 3 do
  local member, instance = ARGV[ARGS + n - 1], KEYS[3 + n]
  local r = kept(instance)
  local at = r and due(r)
  if not r then
    away(indexes, member, instance)
  elseif not final(r) and r.ready == 0 and at ~= 0 and at <= now then
    local index, score = place(r)
    if r.lease ~= 0 then -- its owner is dead or hangs
      r.lease, r.deaths = 0, r.deaths + 1
      if r.deaths >= MAX_DEATHS then r.reason = 'quarantined' end
    end
    if r.deaths < MAX_LOSSES then
      r.ready = at - URGENCY
      ready = ready + 1
    else
      r.wake = 0
    end
    redis.call('HSET', instance, 'k', text(r))
    move(indexes, member, index, score, r)
    changed = true
  end
end
if changed then wrote() end
if ready > 0 then hint() end
local first = redis.call('ZRANGE', indexes.due, 0, 0, 'WITHSCORES')
return reply('OK', ready, first[2] and first[2] ~= 'inf' and first[2] or '0')
