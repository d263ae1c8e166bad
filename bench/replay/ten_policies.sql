-- What bench/replay/access.yaml counts, asked of DuckDB: for each policy how many events it counted, and how many of them
-- were over its first limit. A window of weir is a ring of buckets; here a bucket is a number, and a window a range of them.
-- All events of a bucket see its whole count, so more of them are over than in weir, which counts one after the other.
CREATE TEMP TABLE log AS
SELECT ip, regexp_replace(ip, '[.][0-9]+$', '') AS network, epoch(strptime(stamp[2:], '%d/%b/%Y:%H:%M:%S'))::BIGINT AS second,
       split_part(request, ' ', 1) AS method, split_part(split_part(request, ' ', 2), '?', 1) AS path, status
FROM read_csv('{file}', delim = ' ', quote = '"', header = false, auto_detect = false, columns = {{
  'ip': 'VARCHAR', 'ident': 'VARCHAR', 'account': 'VARCHAR', 'stamp': 'VARCHAR', 'zone': 'VARCHAR', 'request': 'VARCHAR',
  'status': 'INTEGER', 'bytes': 'VARCHAR', 'page': 'VARCHAR', 'agent': 'VARCHAR'}});

CREATE TEMP VIEW item AS SELECT ip, second, path[8:] AS id FROM log WHERE method = 'GET' AND path LIKE '/items/%';
CREATE TEMP VIEW login AS SELECT * FROM log WHERE method = 'POST' AND path = '/login';

CREATE TEMP MACRO within(key, bucket) AS
  count(*) OVER (PARTITION BY key ORDER BY bucket RANGE BETWEEN 59 PRECEDING AND CURRENT ROW);

SELECT 'requests-per-ip', count(*), count(*) FILTER (n > 600) FROM (SELECT within(ip, second) AS n FROM log)
UNION ALL
SELECT 'requests-per-network', count(*), count(*) FILTER (n > 50000) FROM (SELECT within(network, second // 10) AS n FROM log)
UNION ALL
SELECT 'all-requests', count(*), count(*) FILTER (n > 100000000) FROM (SELECT count(*) OVER (PARTITION BY second // 60) AS n FROM log)
UNION ALL
SELECT 'logins-per-ip', count(*), count(*) FILTER (n > 50) FROM (SELECT within(ip, second // 10) AS n FROM login)
UNION ALL
SELECT 'failed-logins-per-ip', count(*), count(*) FILTER (n > 5)
FROM (SELECT within(ip, second // 10) AS n FROM login WHERE status IN (401, 403))
UNION ALL
SELECT 'searches-per-ip', count(*), count(*) FILTER (n > 60)
FROM (SELECT within(ip, second) AS n FROM log WHERE method = 'GET' AND path = '/search')
UNION ALL
SELECT 'items-per-ip', count(*), count(*) FILTER (n > 80)
FROM (SELECT count(DISTINCT id) OVER (PARTITION BY ip ORDER BY second RANGE BETWEEN 599 PRECEDING AND CURRENT ROW) AS n FROM item)
UNION ALL
SELECT 'hits-per-item', count(*), count(*) FILTER (n > 100000) FROM (SELECT within(id, second // 60) AS n FROM item)
UNION ALL
SELECT 'checkouts-per-ip', count(*), count(*) FILTER (n > 20)
FROM (SELECT count(*) OVER (PARTITION BY ip ORDER BY second RANGE BETWEEN 3599 PRECEDING AND CURRENT ROW) AS n
      FROM log WHERE method = 'POST' AND path = '/checkout')
UNION ALL
SELECT 'missed-per-ip', count(*), count(*) FILTER (n > 30)
FROM (SELECT within(ip, second // 10) AS n FROM log WHERE status = 404);
