-- What all scripts share; it stands before each of them.
-- Every script gets the partition's meta as KEYS[1], and as the first arguments the highest seq that the caller has
-- seen of the partition, an echo that tells its reply from others, and what time the caller expects it to be or 0.
-- Every reply is "code now seq echo", or an array that begins so.

local SEEN, ECHO, EXPECTED = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local ARGS = 4 -- where a script's own arguments begin
local JUMP, BACK, SLOW = 30000, 1000, 5000

local meta = KEYS[1]
local server, offset, clock, seq -- the server's clock, what makes now of it, when the partition was written to last
local now, moment -- moment is now as text
do
  local time, known = redis.call('TIME'), redis.call('HMGET', meta, 'clock', 'offset', 'seq')
  clock, offset, seq = tonumber(known[1] or 0), tonumber(known[2] or 0), tonumber(known[3] or 0)
  server = time[1] * 1000 + math.floor(time[2] / 1000)
  if offset > 0 and server >= clock then -- the server's clock has come back
    offset = 0
    redis.call('HDEL', meta, 'offset')
  end
  now = server + offset
  local expected = EXPECTED > 0 and EXPECTED or nil
  if now < clock - BACK then -- the server's clock went back: time goes on from where it was
    now, offset = clock, clock - server
    redis.call('HSET', meta, 'offset', string.format('%d', offset))
    redis.call('HINCRBY', meta, 'jumps', 1)
  elseif expected and now > expected + JUMP and clock <= expected + SLOW then
    now = expected -- a jump, or a call that was long on its way: the caller finds out, and hold sets it right
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
