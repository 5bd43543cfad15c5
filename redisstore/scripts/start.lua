-- start makes an instance (store.Store.Start).
-- KEYS: time, ready, due, index, instance, meta, family
-- ARGV: ..., member, info, delay in ms, deadline in ms or 0, timeout in ms or 0, 1 if its time runs already, how many of its
-- family may start in a day or 0
-- Reply: OK; OK_DUP if the instance is there with the same info; CONFLICT with another one; TOO_MANY of its family
-- include record
local indexes = {ready = KEYS[2], due = KEYS[3]}
local index, instance = KEYS[4], KEYS[5]
local family, DAY = KEYS[7], 86400000
local member, info, delay, deadline, timeout, timed, most = unpack(ARGV, ARGS)
delay, deadline, timeout = tonumber(delay), tonumber(deadline), tonumber(timeout)
if timeout > 0 and (deadline == 0 or now + timeout < deadline) then deadline = now + timeout end

local known = redis.call('HGET', instance, 's')
if known then return reply(known == info and 'OK_DUP' or 'CONFLICT') end

most = tonumber(most)
if most > 0 then
  local since, started = unpack(redis.call('HMGET', family, 'since', 'n'))
  if not since or now - tonumber(since) >= DAY then
    redis.call('HSET', family, 'since', now, 'n', 1)
    redis.call('PEXPIRE', family, DAY)
  elseif tonumber(started) >= most then
    return reply('TOO_MANY')
  else
    redis.call('HINCRBY', family, 'n', 1)
  end
end

local last = redis.call('HINCRBY', KEYS[6], 'last', 1)
local r = {
  status = 'pending', reason = '-', epoch = 0, nonce = '-', lease = 0, version = 0, wake = 0, deadline = deadline,
  ready = 0, mail = 0, read = 0, deaths = 0, slot = format('%d-%d', now, last), started = now + delay, closed = 0,
  records = 0, entries = 0,
}
if delay <= 0 then
  r.ready = timed == '1' and now - URGENCY or now
else
  r.wake = r.started
  if deadline ~= 0 and deadline < r.wake then r.wake = deadline end
end
redis.call('HSET', instance, 'k', text(r), 's', info)
redis.call('XADD', index, r.slot, 'i', member)
move(indexes, member, nil, nil, r)
wrote()
hint()
return reply('OK')
