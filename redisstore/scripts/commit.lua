-- commit stores what steps have changed (runtime.Store.Commit).
-- KEYS: meta, instance, history, ready, due, closed, outbox, inbox, payloads
-- ARGV: ..., member, what is asked for: epoch, nonce, version, at, status, reason, wake, deadline, release, ready, read,
--       records; the record as the owner knows it, or nothing; what it becomes; its deadline; the time of the steps; what
--       entries begin with after the time;
--       numbers of: fields and values to set, fields to delete, entries, outbox entries, references and payloads;
--       then these
-- Reply: OK or OK_DUP, 1 if there are unread messages, and the record if the owner does not know it;
--       NO_SUCH, CLOSED, FENCED, ROLLED_BACK, GUARD, TIMED_OUT
local instance, history = KEYS[2], KEYS[3]
local member, asked, known, becomes, known_deadline, at, stamp, sets, unsets, entries, outgoing, apart =
  unpack(ARGV, ARGS, ARGS + 11)
at = tonumber(at)
sets, unsets, entries, outgoing, apart = tonumber(sets), tonumber(unsets), tonumber(entries), tonumber(outgoing), tonumber(apart)
local first = ARGS + 12
local stored = redis.call('HGET', instance, 'k')

-- each calls f with up to 500 of the next n arguments at a time
local function each(n, f)
  for from = first, first + n - 1, 500 do
    f(from, math.min(from + 499, first + n - 1))
  end
  first = first + n
end

-- write stores the state, the record and the history.
local function write(record)
  if sets > 0 and sets <= 500 then
    redis.call('HSET', instance, 'k', record, unpack(ARGV, first, first + sets - 1))
    first = first + sets
  else
    redis.call('HSET', instance, 'k', record)
    each(sets, function(from, to) redis.call('HSET', instance, unpack(ARGV, from, to)) end)
  end
  if unsets > 0 then
    each(unsets, function(from, to) redis.call('HDEL', instance, unpack(ARGV, from, to)) end)
  end
  for n = first, first + entries - 1 do
    redis.call('RPUSH', history, string.format('%d', now) .. stamp .. ARGV[n])
  end
  first = first + entries
end

-- The usual case: the record is as the owner knows it, and the instance stays where it stands.
if stored == known then
  if at > now then return reply('GUARD') end
  local deadline = tonumber(known_deadline)
  if deadline ~= 0 and now >= deadline and at < deadline then return reply('TIMED_OUT') end
  write(becomes)
  wrote()
  return reply('OK', 0)
end

-- include record
local indexes = {ready = KEYS[4], due = KEYS[5], closed = KEYS[6]}
local outbox, inbox, payloads = KEYS[7], KEYS[8], KEYS[9]
local epoch, nonce, version, _, status, reason, wakes, deadline, release, again, read, records = string.match(asked,
  '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
epoch, version, read = tonumber(epoch), tonumber(version), tonumber(read)

local r = record(stored)
if not r then return reply('NO_SUCH') end
local mine = r.epoch == epoch and r.nonce == nonce
if mine and r.version == version + 1 then return reply('OK_DUP', r.mail > r.read and 1 or 0, stored) end
if final(r) then return reply('CLOSED') end
if not mine or r.lease == 0 then return reply('FENCED') end
if r.version ~= version then return reply('ROLLED_BACK') end
if at > now then return reply('GUARD') end
if r.deadline ~= 0 and now >= r.deadline and at < r.deadline then return reply('TIMED_OUT') end

local index, score = place(r)
r.version, r.records, r.entries, r.read = version + 1, r.records + tonumber(records), r.entries + entries, r.read + read
r.status, r.reason, r.wake, r.deadline = status, reason, tonumber(wakes), tonumber(deadline)
if entries > 0 then r.deaths = 0 end
if final(r) then
  r.lease, r.closed = 0, now
elseif release == '1' then
  r.lease = 0
  if again == '1' or r.mail > r.read then r.ready = now end
end
local becoming = text(r)
write(becoming)
each(outgoing, function(from, to)
  for n = from, to do redis.call('XADD', outbox, '*', 'd', ARGV[n]) end
end)
each(apart, function(from, to) redis.call('HSET', payloads, unpack(ARGV, from, to)) end)
if final(r) then
  redis.call('DEL', inbox)
elseif read > 0 then
  redis.call('LTRIM', inbox, read, -1)
end
move(indexes, member, index, score, r)
wrote()
if r.ready ~= 0 or outgoing > 0 then hint() end
return reply('OK', r.mail > r.read and 1 or 0, becoming)
