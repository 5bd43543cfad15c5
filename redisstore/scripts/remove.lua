-- remove deletes instances that have ended long enough ago (store.Store.Remove).
-- KEYS: time, closed, index, then instance, history, inbox and payloads of each
-- ARGV: ..., age in ms, then the members
-- Reply: OK, number of instances removed
-- include record
local age = tonumber(ARGV[ARGS])

local removed = 0
for n = 1, (#KEYS - 3) / 4 do
  local member, first = ARGV[ARGS + n], 4 * n
  local r = kept(KEYS[first])
  if r and final(r) and now - r.closed >= age then
    redis.call('ZREM', KEYS[2], member)
    redis.call('XDEL', KEYS[3], r.slot)
    redis.call('UNLINK', KEYS[first], KEYS[first + 1], KEYS[first + 2], KEYS[first + 3])
    removed = removed + 1
  end
end
if removed > 0 then wrote() end
return reply('OK', removed)
