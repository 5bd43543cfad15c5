-- forget forgets the leases of workers that hold nothing, if they have ended. That makes no work for anybody: it does not count
-- as a write.
-- KEYS: time, leases
-- ARGV: ..., the leases as they were when it was found that the workers held nothing, then the workers
-- Reply: OK
local text = ARGV[ARGS]
if redis.call('GET', KEYS[2]) ~= text then return reply('OK') end -- somebody may have claimed something since
for n = ARGS + 1, #ARGV do
  local at = string.match(text, ' ' .. ARGV[n] .. ' (%d+)')
  if at and tonumber(at) <= now then text = string.gsub(text, ' ' .. ARGV[n] .. ' %d+', '', 1) end
end
redis.call('SET', KEYS[2], text)
return reply('OK')
