-- apply stores changes of instances, each if its instance is still what the change was made of (store.Change). What a change
-- is, is decided before: this only compares, and writes.
-- KEYS: of each request: time; then of each of its changes: instance, history, and what its checks and commands name
-- ARGV: of each request: what every script gets, number of changes; then of each:
--   the record that is expected, nothing for an instance that is not there, * for any; the number of messages that is expected, * for any;
--   the time that must have come, the time that must not have come or 0;
--   numbers of fields and values to set, of fields to delete, of entries of history without their time, and of commands; then all but these.
--   If there are commands: numbers of all keys of the change and of the arguments that follow, number of checks; commands: name, number of the
--   key, number of arguments, arguments; checks: name, number of the key, an argument. Otherwise the only keys are instance and history.
-- Reply: that of each change: OK, and the number of messages if there are any; CHANGED, and the record and the number of messages as they are;
--   ROLLED_BACK, GUARD, TIMED_OUT; what a check answers; DAMAGED, and a key that is not what it should be
local KEYS, ARGV, call, pcall, tonumber, type, unpack = KEYS, ARGV, redis.call, redis.pcall, tonumber, type, unpack
local k, a = 1, 1 -- where keys and arguments of the next begin
local lost, written = false, false -- of the partition: writes; if something has to be noted
local replies = {}

local function leave()
  if written then note(now) end
  written = false
end

-- ends returns when the lease of a worker ends, by the text that keeps those of a partition.
local function ends(text, worker)
  return tonumber(string.match(text, ' ' .. worker .. ' (%d+)'))
end

local checks = {
  -- that an operation has not been done before
  SEEN = function(key, id) return not call('ZSCORE', key, id) end,
  -- that something has been counted less often
  TOO_MANY = function(key, most) return tonumber(call('GET', key) or 0) < tonumber(most) end,
  -- that the lease of a worker has ended
  CHANGED = function(key, worker) return (ends(call('GET', key) or '', worker) or 0) <= now end,
}

local leased = {} -- until when leases last, by their key and worker

-- The commands that are not Redis' own: they get their key, the instance, where in ARGV their arguments begin, and where their key is.
local own = {
  -- a new instance among all
  INDEX = function(key, instance, from)
    call('HSET', instance, 'l', call('XADD', key, '*', 'i', ARGV[from]))
  end,
  -- until when the lease of a worker lasts at least
  LEASE = function(key, _, from)
    local worker, at = ARGV[from], ARGV[from + 1]
    if leased[key .. worker] == at then return end -- for an instance that was claimed together with this one
    leased[key .. worker] = at
    local text = call('GET', key) or ''
    local is = ends(text, worker)
    if not is then
      call('SET', key, text .. ' ' .. worker .. ' ' .. at)
    elseif is < tonumber(at) then
      call('SET', key, (string.gsub(text, ' ' .. worker .. ' %d+', ' ' .. worker .. ' ' .. at, 1)))
    end
  end,
  -- that an operation was done
  REMEMBER = function(key, _, from) call('ZADD', key, moment, ARGV[from]) end,
  -- that the instance goes, and the two keys from this one on
  REMOVE = function(_, instance, _, at) call('UNLINK', instance, KEYS[k + 2], KEYS[at], KEYS[at + 1]) end,
  HINT = function(_, _, from) call('PUBLISH', ARGV[from], ARGV[from + 1]) end,
}

local types = {
  HSET = 'hash', HINCRBY = 'hash', RPUSH = 'list', LTRIM = 'list', ZADD = 'zset', ZREM = 'zset', REMEMBER = 'zset', SADD = 'set', SREM = 'set',
  XADD = 'stream', XDEL = 'stream', INDEX = 'stream', LEASE = 'string', INCR = 'string',
}

local fitting = {} -- keys that are what they should be, or are not there

-- misfit returns the key of a command that is not what it should be.
local function misfit(from, count)
  for _ = 1, count do
    local want, key = types[ARGV[from]], KEYS[k + ARGV[from + 1]]
    if want and not fitting[key] then
      local is = call('TYPE', key).ok
      if is ~= want and is ~= 'none' then return key end
      fitting[key] = true
    end
    from = from + 3 + ARGV[from + 2]
  end
end

local function run(from, count)
  for _ = 1, count do
    local name, at, last = ARGV[from], k + ARGV[from + 1], from + 2 + ARGV[from + 2]
    if own[name] then
      own[name](KEYS[at], KEYS[k + 1], from + 3, at)
    else
      call(name, KEYS[at], unpack(ARGV, from + 3, last))
    end
    from = last + 1
  end
end

-- failed returns the answer of the first check that does not hold.
local function failed(from, count)
  for _ = 1, count do
    if not checks[ARGV[from]](KEYS[k + ARGV[from + 1]], ARGV[from + 2]) then return ARGV[from] end
    from = from + 3
  end
end

-- obstacle makes the checks and, before the fields and entries are written, finds out whether the commands can be run. It returns
-- what is in the way: an answer and a key.
local function obstacle(from, count)
  local compared = tonumber(ARGV[from + 2])
  local no = failed(from + 2 + ARGV[from + 1] - 3 * compared, compared)
  if no then return no end
  local key = misfit(from + 3, count)
  if key then return 'DAMAGED', key end
end

-- change makes the change whose arguments begin at a, up to rest, where those of its commands are.
local function change(set, rest, commands)
  if lost then return head('ROLLED_BACK') end
  local instance, expected, mail, before = KEYS[k + 1], ARGV[a], ARGV[a + 1], ARGV[a + 3]
  local is, many
  if expected ~= '*' then
    local fields = pcall('HMGET', instance, 'k', 'm')
    if fields.err then return {head('DAMAGED'), instance} end
    is, many = fields[1] or '', fields[2]
    if is ~= expected or mail ~= '*' and (many or '0') ~= mail then return {head('CHANGED'), is, many or '0'} end
  end
  if tonumber(ARGV[a + 2]) > now then return head('GUARD') end
  if before ~= '0' and now >= tonumber(before) then return head('TIMED_OUT') end
  if commands > 0 then
    local no, key = obstacle(rest, commands)
    if no then return {head(no), key or is or '', many or '0'} end
  end
  local unset = set + ARGV[a + 4]
  local entry = unset + ARGV[a + 5]
  for n = entry, rest - 1 do -- before all else: if the first goes well, everything does
    if type(pcall('RPUSH', KEYS[k + 2], moment .. ARGV[n])) == 'table' then return {head('DAMAGED'), KEYS[k + 2]} end
  end
  if unset > set then call('HSET', instance, unpack(ARGV, set, unset - 1)) end
  if entry > unset then call('HDEL', instance, unpack(ARGV, unset, entry - 1)) end
  if commands > 0 then run(rest + 3, commands) end
  seq, written = seq + 1, true
  return many and {head('OK'), many} or head('OK')
end

while a <= #ARGV do
  if KEYS[k] ~= timeKey then
    leave()
    enter(KEYS[k], tonumber(ARGV[a + 2]))
  end
  lost, ECHO = seq < tonumber(ARGV[a]), ARGV[a + 1]
  local changes = tonumber(ARGV[a + 3])
  a = a + 4
  for _ = 1, changes do
    local set, commands = a + 8, tonumber(ARGV[a + 7])
    local rest = set + ARGV[a + 4] + ARGV[a + 5] + ARGV[a + 6]
    replies[#replies + 1] = change(set, rest, commands)
    if commands > 0 then
      k, a = k + ARGV[rest], rest + 2 + ARGV[rest + 1]
    else
      k, a = k + 2, rest
    end
  end
  k = k + 1
end
leave()
return replies
