-- deliver puts a message into an instance's inbox (store.Store.Deliver).
-- KEYS: time, ready, due, seen, instance, inbox
-- ARGV: ..., member, id, message
-- Reply: OK; OK_DUP; NO_SUCH, CORRUPT, CLOSED
-- include record
local indexes = {ready = KEYS[2], due = KEYS[3]}
local seen, instance, inbox = KEYS[4], KEYS[5], KEYS[6]
local member, id, message = unpack(ARGV, ARGS)

local r = kept(instance)
if not r then return reply(missing(instance)) end
if final(r) then return reply('CLOSED') end
if redis.call('ZSCORE', seen, id) then return reply('OK_DUP') end

local index, score = place(r)
r.mail = r.mail + 1
wake(r)
redis.call('ZADD', seen, moment, id)
redis.call('RPUSH', inbox, message)
redis.call('HSET', instance, 'k', text(r))
move(indexes, member, index, score, r)
wrote()
hint()
return reply('OK')
