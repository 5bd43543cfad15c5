-- The common part of all scripts, which precedes each of them. Every script gets the key of the partition's time as KEYS[1], and as the
-- first arguments the highest seq that the caller has seen of the partition, an echo by which its reply is recognised, and the time
-- expected by the caller or 0. Every reply is "code now seq echo", or an array that begins with it. apply gets and replies all this several
-- times.

local ARGS = 4 -- where a script's own arguments begin
local JUMP, BACK, SLOW = 30000, 1000, 5000
local LAST = 253402214400000 -- the last day of the year 9999: JSON has no later times
local format = string.format

local server -- the server's clock
do
  local time = redis.call('TIME')
  server = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
end

local timeKey, SEEN, ECHO
-- time of the last write to the partition, number of writes, offset of the partition's time from the server's clock, number of jumps of
-- that clock
local clock, seq, offset, jumps
local now, moment -- moment is now as text

-- time writes the parts of the partition's time.
local function time(at)
  return format('%d %d %d %d', at, seq, offset, jumps)
end

local function note(at)
  redis.call('SET', timeKey, time(at))
end

-- enter determines the time of a partition from its key.
local function enter(key, expected, kept)
  timeKey = key
  clock, seq, offset, jumps = string.match(kept or redis.call('GET', key) or '', '^(%d+) (%d+) (-?%d+) (%d+)$')
  clock, seq, offset, jumps = tonumber(clock or 0), tonumber(seq or 0), tonumber(offset or 0), tonumber(jumps or 0)
  if clock > LAST or server + offset > LAST then clock, seq, offset, jumps = 0, 0, 0, 0 end -- no clock has shown that
  if offset > 0 and server >= clock then -- the server's clock caught up
    offset = 0
    note(clock)
  end
  now = server + offset
  if now < clock - BACK then -- the server's clock went back: time continues from its old value
    now, offset, jumps = clock, clock - server, jumps + 1
    note(clock)
  elseif expected > 0 and now > expected + JUMP and clock <= expected + SLOW then
    now = expected -- a jump, or a call that was long on its way: the caller finds out, and hold sets it right
  end
  if now < clock then now = clock end
  moment = format('%d', now)
end

local function head(code)
  return code .. ' ' .. moment .. ' ' .. seq .. ' ' .. ECHO
end

local function reply(code, ...)
  return {head(code), ...}
end

-- wrote notes that the script has written, which it does only after all checks.
local function wrote()
  seq = seq + 1
  note(now)
end

SEEN, ECHO = tonumber(ARGV[1]), ARGV[2]
enter(KEYS[1], tonumber(ARGV[3]))
if seq < SEEN and STOPS then return reply('ROLLED_BACK') end
