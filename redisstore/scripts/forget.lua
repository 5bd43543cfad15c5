-- forget deletes the leases of workers that hold nothing. A lease must be expired, unless it belongs to the asking worker. The change
-- creates no work: it does not count as a write.
-- KEYS: time, leases
-- ARGV: ..., the seq of the partition when the workers were found to hold nothing, the asking worker, then the workers
-- Reply: OK
local asks = ARGV[ARGS + 1]
if seq ~= tonumber(ARGV[ARGS]) then return reply('OK') end -- a worker may have claimed a run since
local text = redis.call('GET', KEYS[2]) or ''
for n = ARGS + 2, #ARGV do
  local at = string.match(text, ' ' .. ARGV[n] .. ' (%d+)')
  if at and (ARGV[n] == asks or tonumber(at) <= now) then text = string.gsub(text, ' ' .. ARGV[n] .. ' %d+', '', 1) end
end
if text == '' then
  redis.call('DEL', KEYS[2])
else
  redis.call('SET', KEYS[2], text)
end
return reply('OK')
