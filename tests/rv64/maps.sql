-- Nothing is dropped: the break does not go down, as qemu-user up to 7.2 keeps the pages above it.
create table maps(line);
create table numbers(n integer primary key, name text);
with recursive c(x) as (values(1) union all select x + 1 from c where x < 5000)
insert into numbers select x, printf('%0100d', x) from c;
.separator "\x01" "\n"
.import /proc/self/maps maps
select line from maps;
