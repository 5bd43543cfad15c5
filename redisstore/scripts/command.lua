-- command puts an operator's command into an instance's inbox (store.Store.Command).
-- KEYS: time, ready, due, seen, instance, inbox
-- ARGV: ..., member, id, verb, message
-- Reply: OK; OK_DUP; NO_SUCH, CORRUPT, CLOSED, CONFLICT
-- include record
local indexes = {ready = KEYS[2], due = KEYS[3]}
local seen, instance, inbox = KEYS[4], KEYS[5], KEYS[6]
local member, id, verb, message = unpack(ARGV, ARGS)

if redis.call('ZSCORE', seen, id) then return reply('OK_DUP') end
local r = kept(instance)
if not r then return reply(missing(instance)) end
if final(r) then return reply('CLOSED') end
if verb == 'retry' and r.reason ~= 'quarantined' then return reply('CONFLICT') end

local index, score = place(r)
if verb ~= 'suspend' and verb ~= 'resume' and r.reason == 'quarantined' then
  r.reason, r.deaths = '-', 0
end
if verb ~= 'retry' then
  r.mail = r.mail + 1
  redis.call('RPUSH', inbox, message)
end
wake(r)
redis.call('ZADD', seen, moment, id)
redis.call('HSET', instance, 'k', text(r))
move(indexes, member, index, score, r)
wrote()
hint()
return reply('OK')
