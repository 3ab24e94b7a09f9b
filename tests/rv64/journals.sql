-- A database is made and changed in every journal mode, its file mapped and not.
.open delete_0.db
pragma mmap_size=0;
pragma journal_mode=delete;
create table t(n integer primary key, text);
with recursive c(x) as (values(1) union all select x + 1 from c where x < 2000) insert into t select x, printf('%0200d', x) from c;
update t set text = 'changed' || n where n % 3 = 0;
begin; delete from t where n > 1000; rollback;
begin; delete from t where n % 5 = 0; commit;
vacuum;
.open delete_0.db
pragma mmap_size=0;
select count(*), sum(length(text)), sum(n) from t;
pragma integrity_check;
.open truncate_0.db
pragma mmap_size=0;
pragma journal_mode=truncate;
create table t(n integer primary key, text);
with recursive c(x) as (values(1) union all select x + 1 from c where x < 2000) insert into t select x, printf('%0200d', x) from c;
update t set text = 'changed' || n where n % 3 = 0;
begin; delete from t where n > 1000; rollback;
begin; delete from t where n % 5 = 0; commit;
vacuum;
.open truncate_0.db
pragma mmap_size=0;
select count(*), sum(length(text)), sum(n) from t;
pragma integrity_check;
.open persist_0.db
pragma mmap_size=0;
pragma journal_mode=persist;
create table t(n integer primary key, text);
with recursive c(x) as (values(1) union all select x + 1 from c where x < 2000) insert into t select x, printf('%0200d', x) from c;
update t set text = 'changed' || n where n % 3 = 0;
begin; delete from t where n > 1000; rollback;
begin; delete from t where n % 5 = 0; commit;
vacuum;
.open persist_0.db
pragma mmap_size=0;
select count(*), sum(length(text)), sum(n) from t;
pragma integrity_check;
.open wal_0.db
pragma mmap_size=0;
pragma journal_mode=wal;
create table t(n integer primary key, text);
with recursive c(x) as (values(1) union all select x + 1 from c where x < 2000) insert into t select x, printf('%0200d', x) from c;
update t set text = 'changed' || n where n % 3 = 0;
begin; delete from t where n > 1000; rollback;
begin; delete from t where n % 5 = 0; commit;
vacuum;
.open wal_0.db
pragma mmap_size=0;
select count(*), sum(length(text)), sum(n) from t;
pragma integrity_check;
.open delete_1048576.db
pragma mmap_size=1048576;
pragma journal_mode=delete;
create table t(n integer primary key, text);
with recursive c(x) as (values(1) union all select x + 1 from c where x < 2000) insert into t select x, printf('%0200d', x) from c;
update t set text = 'changed' || n where n % 3 = 0;
begin; delete from t where n > 1000; rollback;
begin; delete from t where n % 5 = 0; commit;
vacuum;
.open delete_1048576.db
pragma mmap_size=1048576;
select count(*), sum(length(text)), sum(n) from t;
pragma integrity_check;
.open truncate_1048576.db
pragma mmap_size=1048576;
pragma journal_mode=truncate;
create table t(n integer primary key, text);
with recursive c(x) as (values(1) union all select x + 1 from c where x < 2000) insert into t select x, printf('%0200d', x) from c;
update t set text = 'changed' || n where n % 3 = 0;
begin; delete from t where n > 1000; rollback;
begin; delete from t where n % 5 = 0; commit;
vacuum;
.open truncate_1048576.db
pragma mmap_size=1048576;
select count(*), sum(length(text)), sum(n) from t;
pragma integrity_check;
.open persist_1048576.db
pragma mmap_size=1048576;
pragma journal_mode=persist;
create table t(n integer primary key, text);
with recursive c(x) as (values(1) union all select x + 1 from c where x < 2000) insert into t select x, printf('%0200d', x) from c;
update t set text = 'changed' || n where n % 3 = 0;
begin; delete from t where n > 1000; rollback;
begin; delete from t where n % 5 = 0; commit;
vacuum;
.open persist_1048576.db
pragma mmap_size=1048576;
select count(*), sum(length(text)), sum(n) from t;
pragma integrity_check;
.open wal_1048576.db
pragma mmap_size=1048576;
pragma journal_mode=wal;
create table t(n integer primary key, text);
with recursive c(x) as (values(1) union all select x + 1 from c where x < 2000) insert into t select x, printf('%0200d', x) from c;
update t set text = 'changed' || n where n % 3 = 0;
begin; delete from t where n > 1000; rollback;
begin; delete from t where n % 5 = 0; commit;
vacuum;
.open wal_1048576.db
pragma mmap_size=1048576;
select count(*), sum(length(text)), sum(n) from t;
pragma integrity_check;
