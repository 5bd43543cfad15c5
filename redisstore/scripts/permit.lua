-- permit takes permits of a task queue back and hands out others (store.Permits). The change creates no work: it does not count as a write.
-- KEYS: time, holders of permits by their ends, begun effects by their beginning
-- ARGV: ..., how many may be held or 0, how many may begin or 0, within how many ms, for how long a permit is held in ms or 0, number of
-- holders that give their permits back, number of them that have not begun, then these holders, the latter first, and the holders that want
-- a permit
-- Reply: OK, the wanting holders that hold a permit, how many are held, when the rate allows one more or 0
local most, rate, per, length = tonumber(ARGV[ARGS]), tonumber(ARGV[ARGS + 1]), tonumber(ARGV[ARGS + 2]), tonumber(ARGV[ARGS + 3])
local back, unbegun, from = tonumber(ARGV[ARGS + 4]), tonumber(ARGV[ARGS + 5]), ARGS + 6
for n = from, from + back - 1 do
  redis.call('ZREM', KEYS[2], ARGV[n])
  if n < from + unbegun then redis.call('ZREM', KEYS[3], ARGV[n]) end
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - per)
redis.call('ZREMRANGEBYSCORE', KEYS[2], LAST, '(+inf') -- no permit ends this late: it was written by another program, and would never end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '(' .. moment, '+inf') -- no effect begins in the future
local held, begun, next, holding = redis.call('ZCARD', KEYS[2]), redis.call('ZCARD', KEYS[3]), 0, {}
local ends = length > 0 and format('%d', now + length) or '+inf'
for n = from + back, #ARGV do
  local has = redis.call('ZSCORE', KEYS[2], ARGV[n])
  local room = most == 0 or held < most
  if not has and room and (rate == 0 or begun < rate) then
    has, held = true, held + 1
    if rate > 0 then
      begun = begun + 1
      redis.call('ZADD', KEYS[3], moment, ARGV[n])
    end
  end
  if has then
    holding[#holding + 1] = ARGV[n]
    redis.call('ZADD', KEYS[2], ends, ARGV[n])
  elseif room then
    next = redis.call('ZRANGE', KEYS[3], '0', '0', 'WITHSCORES')[2] + per
  end
end
if begun > 0 then redis.call('PEXPIRE', KEYS[3], per + JUMP) end
return reply('OK', holding, held, format('%d', next))
