-- What all scripts share; it stands before each of them.
-- Every script gets the partition's meta as KEYS[1], and as the first arguments the highest seq that the caller has
-- seen of the partition, and an echo that tells its reply from others.
-- Every reply is "code now seq echo", or an array that begins so.

local SEEN, ECHO = tonumber(ARGV[1]), ARGV[2]
local ARGS = 3 -- where a script's own arguments begin

local meta = KEYS[1]
local now, moment, seq -- moment is now as text
do
  local time, known = redis.call('TIME'), redis.call('HMGET', meta, 'clock', 'offset', 'seq')
  local clock, offset = tonumber(known[1] or 0), tonumber(known[2] or 0)
  seq = tonumber(known[3] or 0)
  local server = time[1] * 1000 + math.floor(time[2] / 1000)
  now = server + offset
  if now < clock - 1000 then -- the server's clock went back: time goes on from where it was
    redis.call('HSET', meta, 'offset', string.format('%d', clock - server))
    redis.call('HINCRBY', meta, 'jumps', 1)
  end
  if now < clock then now = clock end
  moment = string.format('%d', now)
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
  redis.call('HSET', meta, 'clock', moment, 'seq', seq)
end

if seq < SEEN and not ADOPTS then return reply('ROLLED_BACK') end
