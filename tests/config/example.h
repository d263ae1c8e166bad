#pragma once

#include <string_view>

namespace weir::config {

/// The example of the design's policy language, without what later versions bring.
inline constexpr std::string_view kExample = R"(weir: 1
fields:                                   # subjects that every request may have, named once
  user: header.x_user_id

events:                                   # what happens: extract once, name once
  login:
    match: POST /api/login                # method (or *) + route
    fields:
      user: body.username.lowerAscii()
      device: header.x_device_id
  login_failed: {is: login, when: 'status in [401, 403]'}
  login_ok:     {is: login, when: 'status == 200'}
  ad_reward:
    match: POST /api/ad/reward
    fields: {gold: int(body.gold), ocpc: body.ocpc, os: header.x_os}

lists:
  office:     {of: ip, kind: allow, entries: [10.0.0.0/8, {key: 203.0.113.0/24, until: 2027-01-01, why: partner}]}
  gray_users: {of: user, kind: gray}

tables:                                   # thresholds by dimension
  gold_limit:
    by: [ocpc, os]
    values:
      baidu:   {android: 3000, ios: 2500}
      toutiao: {android: 2000, "*": 1800}
      "*": 1500

policies:
  - name: login-per-ip                    # per-IP login tries
    watch: login_failed
    key: ip
    window: 10m
    then:
      - {over: 5,  do: flag}
      - {over: 10, do: graylist, for: 15m}
      - {over: 50, do: deny, for: 1h}
  - name: login-per-user                  # the same account, and a right login forgives
    watch: login_failed
    key: user
    window: 1h
    reset: login_ok
    then: [{over: 5, do: challenge, for: 10m}]
  - name: accounts-per-device             # per-device accounts
    watch: login
    key: device
    metric: distinct(user)
    window: 1h
    then: [{over: 3, do: graylist, for: 1h}]
  - name: gold-per-user                   # gold rewards over n minutes, threshold by channel and system
    watch: ad_reward
    key: user
    metric: sum(gold)
    window: {last: 30m, exact: true}
    then: [{at: gold_limit, do: graylist, list: gray_users, for: 24h}]
)";

/// The server settings of the design, for one proxy.
inline constexpr std::string_view kServerExample = R"(weir: 1
proxy:  {listen: 0.0.0.0:8480, upstream: http://127.0.0.1:3000,
         client_ip: {trust: [10.0.0.0/8], header: x-forwarded-for},
         timeouts: {connect: 1s, head: 10s, body: 30s, answer: 60s, idle: 75s}}
admin:  {listen: 127.0.0.1:8481, token_file: /run/weir/admin.token}
health: {listen: 0.0.0.0:8482}
state:  {dir: /run/weir}
drain:  {delay: 5s, timeout: 30s}
limits: {memory: 256MiB, keys: 1000000, body: 64KiB, head: 32KiB, connections: 10000}
reserve: {wait: 1s}
challenge: {redirect: /captcha}
log: {level: debug, format: text, keys: readable, verdicts_per_second: 20}
threads: 2
include: [policies/*.yaml]
)";

}  // namespace weir::config
