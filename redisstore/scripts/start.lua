-- start makes an instance (runtime.Store.Start).
-- KEYS: time, ready, due, index, instance, meta
-- ARGV: ..., member, info, delay in ms, deadline in ms or 0, timeout in ms or 0, 1 if its time runs already
-- Reply: OK; OK_DUP if the instance is there with the same info; CONFLICT with another one
-- include record
local indexes = {ready = KEYS[2], due = KEYS[3]}
local index, instance = KEYS[4], KEYS[5]
local member, info, delay, deadline, timeout, timed = unpack(ARGV, ARGS)
delay, deadline, timeout = tonumber(delay), tonumber(deadline), tonumber(timeout)
if timeout > 0 and (deadline == 0 or now + timeout < deadline) then deadline = now + timeout end

local known = redis.call('HGET', instance, 's')
if known then return reply(known == info and 'OK_DUP' or 'CONFLICT') end

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
