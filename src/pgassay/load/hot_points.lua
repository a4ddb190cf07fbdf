-- A hundred neighbouring rows by one list of their keys, each time the same: what PostgreSQL 17 made faster.
require("oltp_common")

function thread_init()
   connection = sysbench.sql.driver():connect()
   local keys = {}
   for place = 1, 100 do
      keys[place] = math.floor(sysbench.opt.table_size / 2) + place
   end
   local list = table.concat(keys, ", ")
   statements = {}
   for number = 1, sysbench.opt.tables do
      local query = string.format("SELECT c FROM sbtest%d WHERE id IN (%s)", number, list)
      statements[number] = connection:prepare(query)
   end
end

function event()
   statements[sysbench.rand.uniform(1, sysbench.opt.tables)]:execute()
end

function thread_done()
   for _, statement in ipairs(statements) do
      statement:close()
   end
   connection:disconnect()
end
