-- commit stores what steps have changed (store.Store.Commit).
-- KEYS: time, instance, history, ready, due, closed, outbox, inbox, payloads
-- ARGV: ..., member, epoch, nonce, version, next version, at, guard, status, reason, wake, deadline, release, ready, read,
--       records;
--       numbers of: fields and values to set, fields to delete, entries, outbox entries, references and payloads;
--       then these
-- Reply: OK or OK_DUP, 1 if there are unread messages, and the record; NO_SUCH, CORRUPT, CLOSED, FENCED, CONFLICT,
--       ROLLED_BACK, GUARD, TIMED_OUT
-- include record
local instance, history = KEYS[2], KEYS[3]
local indexes = {ready = KEYS[4], due = KEYS[5], closed = KEYS[6]}
local outbox, inbox, payloads = KEYS[7], KEYS[8], KEYS[9]
local member, epoch, nonce, version, becoming, at, guard, status, reason, wakes, deadline, release, again, read, records, sets, unsets,
  entries, outgoing, apart = unpack(ARGV, ARGS, ARGS + 19)
epoch, version, becoming, at = tonumber(epoch), tonumber(version), tonumber(becoming), tonumber(at)
guard, read, entries = tonumber(guard), tonumber(read), tonumber(entries)

local stored = redis.call('HGET', instance, 'k')
local r = record(stored)
if not r then return reply(missing(instance)) end
local mine = r.epoch == epoch and r.nonce == nonce
if mine and r.version == becoming then return reply('OK_DUP', r.mail > r.read and 1 or 0, stored) end
if final(r) then return reply('CLOSED') end
if not mine or r.lease == 0 then return reply('FENCED') end
if r.version > version then return reply('CONFLICT') end
if r.version < version then return reply('ROLLED_BACK') end
if at > now then return reply('GUARD') end
if r.deadline > at and (guard == 0 or r.deadline < guard) then guard = r.deadline end
if guard ~= 0 and now >= guard then return reply('TIMED_OUT') end

local index, score = place(r)
if entries > 0 and r.version > 0 then r.deaths = 0 end -- that it has begun is no progress
local unstarted = r.status == 'pending' and (r.started > at or r.deadline ~= 0 and r.deadline <= at)
local released = reason == 'quarantined' and r.reason ~= reason -- by a command, meanwhile
if released then reason = r.reason end
r.version, r.records, r.entries, r.read = becoming, r.records + tonumber(records), r.entries + entries, r.read + read
r.status, r.reason, r.wake, r.deadline = status, reason, tonumber(wakes), tonumber(deadline)
if final(r) then
  r.lease, r.closed = 0, now
  if unstarted then r.started = 0 end
elseif release == '1' then
  r.lease = 0
  if again == '1' or released or r.mail > r.read and r.reason ~= 'quarantined' then r.ready = now - URGENCY end
end
local becomes = text(r)

-- each calls f with up to 500 of n arguments at a time
local function each(first, n, f)
  for from = first, first + n - 1, 500 do
    f(from, math.min(from + 499, first + n - 1))
  end
end

sets, unsets, outgoing, apart = tonumber(sets), tonumber(unsets), tonumber(outgoing), tonumber(apart)
local changed = ARGS + 20
local ended = changed + sets
local logged = ended + unsets
local sent = logged + entries
local stamp = moment .. ' ' .. epoch .. ' ' .. nonce .. ' '

-- A key that is not what it should be ends the script before anything is written.
redis.call('ZSCORE', indexes[index], member)
redis.call('ZSCORE', indexes[place(r)], member)
if entries > 0 then redis.call('LRANGE', history, 0, 0) end
if apart > 0 then redis.call('HGET', payloads, '') end
if outgoing > 0 then redis.call('XRANGE', outbox, '+', '+') end
if read > 0 then redis.call('LRANGE', inbox, 0, 0) end

redis.call('HSET', instance, 'k', becomes)
each(changed, sets, function(from, to) redis.call('HSET', instance, unpack(ARGV, from, to)) end)
each(ended, unsets, function(from, to) redis.call('HDEL', instance, unpack(ARGV, from, to)) end)
each(logged, entries, function(from, to)
  for n = from, to do redis.call('RPUSH', history, stamp .. ARGV[n]) end
end)
each(sent + outgoing, apart, function(from, to) redis.call('HSET', payloads, unpack(ARGV, from, to)) end)
each(sent, outgoing, function(from, to)
  for n = from, to do redis.call('XADD', outbox, '*', 'd', ARGV[n]) end
end)
if final(r) then
  redis.call('DEL', inbox)
elseif read > 0 then
  redis.call('LTRIM', inbox, read, -1)
end
move(indexes, member, index, score, r)
wrote()
if r.ready ~= 0 or outgoing > 0 then hint() end
return reply('OK', r.mail > r.read and 1 or 0, becomes)
