-- What the scripts share that look at records; it stands where a script says so. They get the channel and the text of
-- a hint as the first of their own arguments.

local CHANNEL, HINT = ARGV[ARGS], ARGV[ARGS + 1]
ARGS = ARGS + 2

local GRACE, MAX_DEATHS, MAX_LOSSES, URGENCY = 2000, 5, 10, 10000000000000

local function hint()
  redis.call('PUBLISH', CHANNEL, HINT)
end

-- record reads runtime.Record; nil for what is none.
local function record(text)
  if type(text) ~= 'string' then return nil end
  local status, reason, epoch, nonce, lease, version, wake, deadline, ready, mail, read, deaths, slot, started, closed,
    records, entries = string.match(text, '^(%S+) (%S+) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+) (-?%d+) (%d+) (%d+) ' ..
    '(%d+) (%S+) (%d+) (%d+) (%d+) (%d+)$')
  if not status then return nil end
  return {
    status = status, reason = reason, epoch = tonumber(epoch), nonce = nonce, lease = tonumber(lease),
    version = tonumber(version), wake = tonumber(wake), deadline = tonumber(deadline), ready = tonumber(ready),
    mail = tonumber(mail), read = tonumber(read), deaths = tonumber(deaths), slot = slot, started = tonumber(started),
    closed = tonumber(closed), records = tonumber(records), entries = tonumber(entries),
  }
end

-- kept reads the record of an instance; nil if what is there is none. Whatever else the server says ends the script.
local function kept(instance)
  local is = redis.pcall('HGET', instance, 'k')
  if type(is) == 'table' and string.find(is.err, '^WRONGTYPE') then return nil end
  if type(is) == 'table' then error(is) end
  return record(is)
end

-- missing tells why an instance has no record.
local function missing(instance)
  return redis.call('EXISTS', instance) == 1 and 'CORRUPT' or 'NO_SUCH'
end

local function text(r)
  return format('%s %s %d %s %d %d %d %d %d %d %d %d %s %d %d %d %d', r.status, r.reason, r.epoch, r.nonce,
    r.lease, r.version, r.wake, r.deadline, r.ready, r.mail, r.read, r.deaths, r.slot, r.started, r.closed,
    r.records, r.entries)
end

local function final(r)
  return r.status == 'completed' or r.status == 'faulted' or r.status == 'cancelled'
end

-- due returns when somebody has to look at an instance that is not ready; 0 for never (runtime.Record.Due).
local function due(r)
  if r.lease == 0 then return r.wake end
  if r.wake ~= 0 and r.wake + GRACE < r.lease then return r.wake + GRACE end
  return r.lease
end

-- place returns in which index an instance stands (ready, due or closed), and its score.
local function place(r)
  if final(r) then return 'closed', r.closed end
  if r.ready ~= 0 then return 'ready', r.ready end
  local at = due(r)
  if at == 0 then return 'due', '+inf' end
  return 'due', at
end

-- move puts an instance where its record says, if it stood at index and score before; index is nil for a new one.
local function move(indexes, member, index, score, r)
  local to, at = place(r)
  if index and index ~= to then redis.call('ZREM', indexes[index], member) end
  if index ~= to or score ~= at then
    redis.call('ZADD', indexes[to], type(at) == 'number' and format('%d', at) or at, member)
  end
end

-- away takes an instance out of the way whose record cannot be read: it stands where nothing is ever due, and scrub tells.
-- One that has been removed meanwhile stands nowhere.
local function away(indexes, member, instance)
  redis.call('ZREM', indexes.ready, member)
  if missing(instance) == 'CORRUPT' then
    redis.call('ZADD', indexes.due, '+inf', member)
  else
    redis.call('ZREM', indexes.due, member)
  end
end

-- wake makes an instance ready, before all that is new, unless somebody holds it or it is quarantined.
local function wake(r)
  if r.lease == 0 and r.ready >= 0 and r.reason ~= 'quarantined' then r.ready = now - URGENCY end
end

