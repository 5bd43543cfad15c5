-- confirm records the time in several partitions. A partition without writes has no time.
-- KEYS: time of each
-- ARGV: ..., the expected time of each
-- Reply: OK
local done, times, notes = reply('OK'), redis.call('MGET', unpack(KEYS)), {}
for n, key in ipairs(KEYS) do
  if times[n] then
    enter(key, tonumber(ARGV[ARGS + n - 1]), times[n])
    notes[#notes + 1] = key
    notes[#notes + 1] = time(now)
  end
end
if #notes > 0 then redis.call('MSET', unpack(notes)) end
return done
