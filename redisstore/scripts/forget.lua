-- forget forgets the leases of workers that hold nothing, if they have ended or are those of the worker who asks. That makes no work for anybody: it does not count
-- as a write.
-- KEYS: time, leases
-- ARGV: ..., the leases as they were when it was found that the workers held nothing, who asks, then the workers
-- Reply: OK
local text, asks = ARGV[ARGS], ARGV[ARGS + 1]
if redis.call('GET', KEYS[2]) ~= text then return reply('OK') end -- somebody may have claimed something since
for n = ARGS + 2, #ARGV do
  local at = string.match(text, ' ' .. ARGV[n] .. ' (%d+)')
  if at and (ARGV[n] == asks or tonumber(at) <= now) then text = string.gsub(text, ' ' .. ARGV[n] .. ' %d+', '', 1) end
end
redis.call('SET', KEYS[2], text)
return reply('OK')
