-- apply stores changes of instances, each only if its instance is in the state that the change was made from (store.Change). The caller
-- decides the content of a change; this script only compares and writes.
-- KEYS: of each request: time; then of each of its changes: instance, history, and the keys of its checks and commands
-- ARGV: of each request: the arguments of every script; then of each of its changes:
--   the expected record, empty for a missing instance, * for any; its shape; the earliest time of the change;
--   the expected number of messages, the time before which it must happen: both only if the shape has their bits;
--   fields and values to set, fields to delete, entries of history without their time;
--   if there are commands: number of all keys of the change, number of the following arguments, number of checks; commands: name, number
--   of the key, number of arguments, arguments; checks: name, number of the key, an argument. Otherwise the only keys are instance and history.
-- A shape is one number: ten bits for the number of fields and values to set, ten bits for the number of fields to delete, twenty bits for
--   the number of entries, and one bit each for: has commands; expects messages; has a time before which it must happen; another change follows.
-- Reply: the reply to each change: OK, and the number of messages if there are any; CHANGED, and the current record and number of messages;
--   ROLLED_BACK, TOO_EARLY, TIMED_OUT; the answer of a check; DAMAGED, and a key with unexpected content;
--   followed by DELETED if this is the key of an instance of which only the history exists
local KEYS, ARGV, call, pcall, tonumber, type, unpack = KEYS, ARGV, redis.call, redis.pcall, tonumber, type, unpack
local k, a = 1, 1 -- where keys and arguments of the next begin
local lost, written = false, false -- of the partition: writes; if something has to be noted
local replies = {}

local function leave()
  if written then note(now) end
  written = false
end

-- ends returns when the lease of a worker ends, according to the text with the leases of a partition.
local function ends(text, worker)
  return tonumber(string.match(text, ' ' .. worker .. ' (%d+)'))
end

local fitting = {} -- keys with expected content, or missing keys

local checks = {
  -- that an operation has not been done before
  SEEN = function(key, id) return not call('ZSCORE', key, id) end,
  -- that something has been counted less often
  TOO_MANY = function(key, most) return tonumber(call('GET', key) or 0) < tonumber(most) end,
  -- an activity has the expected record, in any form
  ACTIVITY = function(key, expected)
    local field, record = string.match(expected, '^(%S+) %d+ (.*)$')
    fitting[key] = true
    return string.match(call('HGET', key, field) or '', '^%d+ (.*)$') == record
  end,
  -- the lease of a worker expired
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
  -- record that an operation was done; it is forgotten earlier than others by the given number of milliseconds
  REMEMBER = function(key, _, from) call('ZADD', key, moment - ARGV[from + 1], ARGV[from]) end,
  -- add a number
  COUNT = function(key, _, from) call('SET', key, format('%d', (call('GET', key) or 0) + ARGV[from])) end,
  -- remove an activity from its queue, whose name is in the set under the next key while the queue is not empty
  DEQUEUE = function(key, _, from, at)
    call('ZREM', key, ARGV[from])
    if call('EXISTS', key) == 0 then call('ZREM', KEYS[at + 1], ARGV[from + 1]) end
  end,
  -- that the instance goes, and the two keys from this one on
  REMOVE = function(_, instance, _, at) call('UNLINK', instance, KEYS[k + 2], KEYS[at], KEYS[at + 1]) end,
  HINT = function(_, _, from) call('PUBLISH', ARGV[from], ARGV[from + 1]) end,
}

local types = {
  HSET = 'hash', HINCRBY = 'hash', RPUSH = 'list', LTRIM = 'list', ZADD = 'zset', ZREM = 'zset', REMEMBER = 'zset', SADD = 'set', SREM = 'set',
  DEQUEUE = 'zset', XADD = 'stream', XDEL = 'stream', INDEX = 'stream', LEASE = 'string', INCR = 'string', COUNT = 'string',
}

-- misfit returns the key of a command with unexpected content.
local function misfit(from, to)
  while from <= to do
    local want, key = types[ARGV[from]], KEYS[k + ARGV[from + 1]]
    if want and not fitting[key] then
      local is = call('TYPE', key).ok
      if is ~= want and is ~= 'none' then return key end
      fitting[key] = true
    end
    from = from + 3 + ARGV[from + 2]
  end
end

local function run(from, to)
  while from <= to do
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

-- obstacle makes the checks of a change whose commands and checks begin at from and end before to. Before the fields and entries are
-- written, it verifies that the commands can be run. It returns the obstacle: an answer and a key.
local function obstacle(from, checks)
  local compared = tonumber(ARGV[from - 1])
  local no = failed(checks, compared)
  if no then return no end
  local key = misfit(from, checks - 1)
  if key then return 'DAMAGED', key end
end

-- change makes the change whose arguments begin at a: fields at set and unset, entries at entry, and the rest at rest. mail and before are
-- nil if they do not matter; commands and checks are their positions, nil without any.
local function change(mail, before, set, unset, entry, rest, commands, checks)
  if lost then return head('ROLLED_BACK') end
  local instance, expected = KEYS[k + 1], ARGV[a]
  local is, many
  if expected ~= '*' then
    local fields = pcall('HMGET', instance, 'k', 'm')
    if fields.err then return {head('DAMAGED'), instance} end
    is, many, fitting[instance] = fields[1] or '', fields[2], true
    if is ~= expected or mail and (many or '0') ~= mail then return {head('CHANGED'), is, many or '0'} end
    if is == '' then
      local there = call('EXISTS', instance)
      if there == 0 and call('EXISTS', KEYS[k + 2]) == 1 then return {head('DAMAGED'), instance, 'DELETED'} end
      if there == 1 and unset > set then return {head('DAMAGED'), instance} end -- a new instance would keep fields of the one before
    end
  end
  if tonumber(ARGV[a + 2]) > now then return head('TOO_EARLY') end
  if before and now >= tonumber(before) then return head('TIMED_OUT') end
  if commands then
    local no, key = obstacle(commands, checks)
    if no then return {head(no), key or is or '', many or '0'} end
  end
  for n = entry, rest - 1 do -- before all else: if the first goes well, everything does
    if type(pcall('RPUSH', KEYS[k + 2], moment .. ARGV[n])) == 'table' then return {head('DAMAGED'), KEYS[k + 2]} end
  end
  if unset > set then call('HSET', instance, unpack(ARGV, set, unset - 1)) end
  if entry > unset then call('HDEL', instance, unpack(ARGV, unset, entry - 1)) end
  if commands then run(commands, checks - 1) end
  seq, written = seq + 1, true
  return many and {head('OK'), many} or head('OK')
end

-- next makes the change whose arguments begin at a, moves to the change after it, and reports whether that belongs to the same request.
local function next()
  local shape = tonumber(ARGV[a + 1])
  local sets = shape % 1024
  shape = (shape - sets) / 1024
  local unsets = shape % 1024
  shape = (shape - unsets) / 1024
  local entries = shape % 1048576
  local flags = (shape - entries) / 1048576
  local set, mail, before, commands, checks = a + 3
  if flags % 4 >= 2 then mail, set = ARGV[set], set + 1 end
  if flags % 8 >= 4 then before, set = ARGV[set], set + 1 end
  local unset = set + sets
  local entry = unset + unsets
  local rest = entry + entries
  local nextKey, nextArgument = k + 2, rest
  if flags % 2 == 1 then
    nextKey, nextArgument = k + ARGV[rest], rest + 2 + ARGV[rest + 1]
    commands, checks = rest + 3, nextArgument - 3 * ARGV[rest + 2]
  end
  replies[#replies + 1] = change(mail, before, set, unset, entry, rest, commands, checks)
  k, a = nextKey, nextArgument
  return flags >= 8
end

while a <= #ARGV do
  if KEYS[k] ~= timeKey then
    leave()
    enter(KEYS[k], tonumber(ARGV[a + 2]))
  end
  lost, ECHO = seq < tonumber(ARGV[a]), ARGV[a + 1]
  a = a + 3
  repeat until not next()
  k = k + 1
end
leave()
return replies
