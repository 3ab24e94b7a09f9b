create table numbers(n integer primary key, root real, name text);
with recursive c(x) as (values(1) union all select x + 1 from c where x < 20000)
insert into numbers select x, sqrt(x), printf('%05d', x) from c;
create index by_name on numbers(name);
select count(*), printf('%.6f', sum(root)), max(name), avg(n) from numbers;
select n, printf('%.3f', root) from numbers where name like '%9999' order by n desc;
delete from numbers where n % 7 = 0;
select count(*), total(n) from numbers;
select json_object('a', json_array(1, 2.5, 'x'), 'b', null);
select hex(zeroblob(4)), quote(x'00ff'), 1e300 * 1e10, 9223372036854775807, 5 / 2, 5 % 3, printf('%.9f', 1.0 / 3);
pragma integrity_check;
