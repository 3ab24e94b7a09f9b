-- A database is made and changed, with the journal mode @MODE@ and @SIZE@ bytes of its file mapped.
.open @MODE@_@SIZE@.db
pragma mmap_size=@SIZE@;
pragma journal_mode=@MODE@;
create table t(n integer primary key, text);
with recursive c(x) as (values(1) union all select x + 1 from c where x < 2000) insert into t select x, printf('%0200d', x) from c;
update t set text = 'changed' || n where n % 3 = 0;
begin; delete from t where n > 1000; rollback;
begin; delete from t where n % 5 = 0; commit;
vacuum;
.open @MODE@_@SIZE@.db
pragma mmap_size=@SIZE@;
select count(*), sum(length(text)), sum(n) from t;
pragma integrity_check;
