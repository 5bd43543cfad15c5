-- commit stores what steps have changed (runtime.Store.Commit).
-- KEYS: meta, ready, due, closed, outbox, instance, history, inbox, payloads
-- ARGV: ..., member, epoch, nonce, version, at, status, reason, wake, deadline, release, ready, read, records,
--       numbers of: fields and values to set, fields to delete, entries, outbox entries, references and payloads;
--       then these
-- Reply: OK or OK_DUP, and 1 if there are unread messages; NO_SUCH, CLOSED, FENCED, ROLLED_BACK, GUARD, TIMED_OUT
local indexes = {ready = KEYS[2], due = KEYS[3], closed = KEYS[4]}
local outbox, instance, history, inbox, payloads = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local member, epoch, nonce, version, at, status, reason, wakes, deadline, release, again, read, records, sets, unsets,
  entries, outgoing, apart = unpack(ARGV, ARGS, ARGS + 17)
epoch, version, at, read = tonumber(epoch), tonumber(version), tonumber(at), tonumber(read)

local r = record(redis.call('HGET', instance, 'k'))
if not r then return reply('NO_SUCH') end
local mine = r.epoch == epoch and r.nonce == nonce
if mine and r.version == version + 1 then return reply('OK_DUP', r.mail > r.read and 1 or 0) end
if final(r) then return reply('CLOSED') end
if not mine or r.lease == 0 then return reply('FENCED') end
if r.version ~= version then return reply('ROLLED_BACK') end
if at > now then return reply('GUARD') end
if r.deadline ~= 0 and now >= r.deadline and at < r.deadline then return reply('TIMED_OUT') end

local index, score = place(r)
r.version, r.records, r.entries = version + 1, r.records + tonumber(records), r.entries + tonumber(entries)
r.status, r.reason, r.wake, r.deadline = status, reason, tonumber(wakes), tonumber(deadline)
r.read = r.read + read
if tonumber(entries) > 0 then r.deaths = 0 end
if final(r) then
  r.lease, r.closed = 0, now
elseif release == '1' then
  r.lease = 0
  if again == '1' or r.mail > r.read then r.ready = now end
end

-- each calls f with up to 500 of the next n arguments at a time
local next = ARGS + 18
local function each(n, f)
  for first = next, next + n - 1, 500 do
    f(first, math.min(first + 499, next + n - 1))
  end
  next = next + n
end

sets = tonumber(sets)
if sets <= 500 then
  redis.call('HSET', instance, 'k', text(r), unpack(ARGV, next, next + sets - 1))
  next = next + sets
else
  redis.call('HSET', instance, 'k', text(r))
  each(sets, function(first, last) redis.call('HSET', instance, unpack(ARGV, first, last)) end)
end
each(tonumber(unsets), function(first, last) redis.call('HDEL', instance, unpack(ARGV, first, last)) end)
local stamp = string.format('%d %d %s ', now, epoch, nonce)
each(tonumber(entries), function(first, last)
  for n = first, last do redis.call('RPUSH', history, stamp .. ARGV[n]) end
end)
each(tonumber(outgoing), function(first, last)
  for n = first, last do redis.call('XADD', outbox, '*', 'd', ARGV[n]) end
end)
each(tonumber(apart), function(first, last) redis.call('HSET', payloads, unpack(ARGV, first, last)) end)
if final(r) then
  redis.call('DEL', inbox)
elseif read > 0 then
  redis.call('LTRIM', inbox, read, -1)
end
move(indexes, member, index, score, r)
wrote()
if r.ready ~= 0 or outgoing ~= '0' then hint() end
return reply('OK', r.mail > r.read and 1 or 0)
