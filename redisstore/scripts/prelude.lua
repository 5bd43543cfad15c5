-- What all scripts share; it stands before each of them.
-- Every script gets the partition's meta as KEYS[1], and as the first arguments the highest seq that the caller has
-- seen of the partition, an echo that tells its reply from others, and the channel and text of a hint.
-- Every reply is {code, now, seq, echo, ...}.

local SEEN, ECHO, CHANNEL, HINT = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local ARGS = 5 -- where a script's own arguments begin
local GRACE, MAX_DEATHS, URGENCY = 2000, 5, 10000000000000

local meta = KEYS[1]
local now, seq
do
  local time = redis.call('TIME')
  local clock, offset, writes = unpack(redis.call('HMGET', meta, 'clock', 'offset', 'seq'))
  clock, offset, seq = tonumber(clock or 0), tonumber(offset or 0), tonumber(writes or 0)
  local server = time[1] * 1000 + math.floor(time[2] / 1000)
  now = server + offset
  if now < clock - 1000 then -- the server's clock went back: time goes on from where it was
    redis.call('HSET', meta, 'offset', string.format('%d', clock - server))
    redis.call('HINCRBY', meta, 'jumps', 1)
  end
  if now < clock then now = clock end
end

local function reply(code, ...)
  return {code, string.format('%d', now), string.format('%d', seq), ECHO, ...}
end

-- wrote notes that the script has written, which it does only after all checks.
local function wrote()
  seq = seq + 1
  redis.call('HSET', meta, 'clock', string.format('%d', now), 'seq', string.format('%d', seq))
end

local function hint()
  redis.call('PUBLISH', CHANNEL, HINT)
end

-- record reads runtime.Record; nil for what is none.
local function record(text)
  if type(text) ~= 'string' then return nil end
  local status, reason, epoch, nonce, lease, version, wake, deadline, ready, mail, read, deaths, slot, started, updated,
    closed, records, entries = string.match(text, '^(%S+) (%S+) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+) (-?%d+) (%d+) (%d+) ' ..
    '(%d+) (%S+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  if not status then return nil end
  return {
    status = status, reason = reason, epoch = tonumber(epoch), nonce = nonce, lease = tonumber(lease),
    version = tonumber(version), wake = tonumber(wake), deadline = tonumber(deadline), ready = tonumber(ready),
    mail = tonumber(mail), read = tonumber(read), deaths = tonumber(deaths), slot = slot, started = tonumber(started),
    closed = tonumber(closed), records = tonumber(records), entries = tonumber(entries),
  }
end

local function text(r)
  return string.format('%s %s %d %s %d %d %d %d %d %d %d %d %s %d %d %d %d %d', r.status, r.reason, r.epoch, r.nonce,
    r.lease, r.version, r.wake, r.deadline, r.ready, r.mail, r.read, r.deaths, r.slot, r.started, now, r.closed,
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
  if at == 0 or r.reason == 'quarantined' then return 'due', '+inf' end
  return 'due', at
end

-- move puts an instance where its record says, if it stood at index and score before; index is nil for a new one.
local function move(indexes, member, index, score, r)
  local to, at = place(r)
  if index and index ~= to then redis.call('ZREM', indexes[index], member) end
  if index ~= to or score ~= at then
    redis.call('ZADD', indexes[to], type(at) == 'number' and string.format('%d', at) or at, member)
  end
end

-- wake makes an instance ready, unless somebody holds it or it is quarantined.
local function wake(r)
  if r.lease == 0 and r.ready == 0 and r.reason ~= 'quarantined' then r.ready = now end
end

if seq < SEEN and not ADOPTS then return reply('ROLLED_BACK') end
