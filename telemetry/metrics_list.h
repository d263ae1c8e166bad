#pragma once

/// Every metric of fixed labels once: X(id, kind, name, labels, help). Rows of one name are
/// together. The Prometheus page and tests/telemetry walk this table; docs/metrics.md is written
/// from the page. Metrics that carry the name of a policy, list or field are families
/// (policies/judgement/stats.h). No client value is ever a label.
#define WEIR_METRICS(X)                                                                            \
  X(connections_total, counter, "weir_connections_total", "", "Downstream connections accepted.")  \
  X(connections_open, gauge, "weir_connections_open", "", "Downstream connections open now.")      \
  X(connections_refused, counter, "weir_connections_refused_total", "",                            \
    "Connections closed at once because of limits.connections or connections_per_ip.")             \
  X(connections_recycled, counter, "weir_connections_recycled_total", "",                          \
    "Idle connections of clients closed to make room for new ones.")                               \
  X(connections_failed, counter, "weir_connections_failed_total", "",                              \
    "Connections ended because there was no memory for them.")                                     \
  X(requests_1xx, counter, "weir_responses_total", "code=\"1xx\"",                                 \
    "Responses sent downstream, by class of status.")                                              \
  X(requests_2xx, counter, "weir_responses_total", "code=\"2xx\"", "")                             \
  X(requests_3xx, counter, "weir_responses_total", "code=\"3xx\"", "")                             \
  X(requests_4xx, counter, "weir_responses_total", "code=\"4xx\"", "")                             \
  X(requests_5xx, counter, "weir_responses_total", "code=\"5xx\"", "")                             \
  X(requests_malformed, counter, "weir_requests_malformed_total", "",                              \
    "Requests refused by the strict HTTP parser.")                                                 \
  X(limit_head, counter, "weir_limit_reached_total", "limit=\"head\"",                             \
    "Requests refused because a configured limit was reached.")                                    \
  X(limit_target, counter, "weir_limit_reached_total", "limit=\"target\"", "")                     \
  X(limit_fields, counter, "weir_limit_reached_total", "limit=\"fields\"", "")                     \
  X(limit_body, counter, "weir_limit_reached_total", "limit=\"body\"", "")                         \
  X(limit_buffers, counter, "weir_limit_reached_total", "limit=\"buffers\"", "")                   \
  X(limit_per_ip, counter, "weir_limit_reached_total", "limit=\"connections_per_ip\"", "")         \
  X(limit_held, counter, "weir_limit_reached_total", "limit=\"held\"", "")                         \
  X(limit_waiting, counter, "weir_limit_reached_total", "limit=\"waiting\"", "")                   \
  X(timeout_head, counter, "weir_timeouts_total", "phase=\"head\"",                                \
    "Deadlines that passed, by phase.")                                                            \
  X(timeout_body, counter, "weir_timeouts_total", "phase=\"body\"", "")                            \
  X(timeout_connect, counter, "weir_timeouts_total", "phase=\"connect\"", "")                      \
  X(timeout_answer, counter, "weir_timeouts_total", "phase=\"answer\"", "")                        \
  X(timeout_idle, counter, "weir_timeouts_total", "phase=\"idle\"", "")                            \
  X(timeout_write, counter, "weir_timeouts_total", "phase=\"write\"", "")                          \
  X(upstream_connects, counter, "weir_upstream_connects_total", "",                                \
    "Connections opened upstream.")                                                                \
  X(upstream_reused, counter, "weir_upstream_reused_total", "",                                    \
    "Requests sent on a pooled connection.")                                                       \
  X(upstream_failures, counter, "weir_upstream_failures_total", "reason=\"connect\"",              \
    "Requests that got no good answer from upstream.")                                             \
  X(upstream_silent, counter, "weir_upstream_failures_total", "reason=\"answer\"", "")             \
  X(upstream_malformed, counter, "weir_upstream_failures_total", "reason=\"malformed\"", "")       \
  X(upstream_cut, counter, "weir_upstream_failures_total", "reason=\"cut\"", "")                   \
  X(upstream_retries, counter, "weir_upstream_retries_total", "",                                  \
    "Requests sent again because a pooled connection had died.")                                   \
  X(answers_too_large, counter, "weir_answers_unread_total", "reason=\"too_large\"",               \
    "Answers whose body a policy asked for and weir could not read; they follow `missing`.")       \
  X(answers_encoded, counter, "weir_answers_unread_total", "reason=\"encoded\"", "")               \
  X(answers_unreadable, counter, "weir_answers_unread_total", "reason=\"unreadable\"", "")         \
  X(client_aborts, counter, "weir_client_aborts_total", "",                                        \
    "Clients that left before their answer.")                                                      \
  X(drain_cut, counter, "weir_drain_cut_requests_total", "",                                       \
    "Requests that were still in flight at the end of drain.timeout.")                             \
  X(requests_refused_in_flight, counter, "weir_requests_refused_in_flight_total", "",              \
    "Requests refused only because other requests were in flight and got no answer in time.")      \
  X(requests_waiting, gauge, "weir_requests_waiting", "",                                          \
    "Requests that wait until reservations settle.")                                               \
  X(requests_held, gauge, "weir_requests_held", "", "Requests held by a delay action.")            \
  X(reloads_ok, counter, "weir_reloads_total", "result=\"ok\"", "Configuration reloads.")          \
  X(reloads_failed, counter, "weir_reloads_total", "result=\"failed\"", "")                        \
  X(config_problems, gauge, "weir_config_problems", "", "Problems of the last reload.")            \
  X(table_keys, gauge, "weir_table_keys", "", "Keys in the counter tables (upper bound).")         \
  X(table_capacity, gauge, "weir_table_capacity", "", "Keys that the counter tables can hold.")    \
  X(memory_used, gauge, "weir_memory_used_bytes", "", "Arena bytes in use.")                       \
  X(memory_limit, gauge, "weir_memory_limit_bytes", "", "Maximum of arena bytes (limits.memory).") \
  X(evicted, counter, "weir_evicted_total", "",                                                    \
    "Live keys that lost their count because a table was full.")                                   \
  X(table_full, counter, "weir_table_full_total", "",                                              \
    "New keys that found no room because all others are in flight.")                               \
  X(patterns_matched, counter, "weir_pattern_matches_total", "kind=\"matched\"",                   \
    "Matches of patterns, by what happened.")                                                      \
  X(patterns_timed_out, counter, "weir_pattern_matches_total", "kind=\"timeout\"", "")             \
  X(patterns_unmatched, counter, "weir_pattern_matches_total", "kind=\"unmatched\"", "")           \
  X(patterns_dropped, counter, "weir_pattern_dropped_total", "",                                   \
    "Open matches of patterns that weir dropped because of keep or memory.")                       \
  X(patterns_open, gauge, "weir_pattern_open", "", "Open matches of patterns.")                    \
  X(patterns_memory, gauge, "weir_pattern_memory_bytes", "",                                       \
    "Bytes that the open matches of patterns take.")                                               \
  X(list_share_up, gauge, "weir_redis_list_up", "",                                                \
    "1 while Redis answers for every shared list (0 also without shared lists).")                  \
  X(list_share_lag, gauge, "weir_redis_list_lag_seconds", "",                                      \
    "Maximum age of what this replica knows of the other replicas' list entries.")                 \
  X(list_share_pending, gauge, "weir_redis_list_pending", "",                                      \
    "Changes of shared lists that Redis does not have yet.")                                       \
  X(list_share_entries, gauge, "weir_redis_list_entries", "",                                      \
    "Keys of shared lists in Redis, including removed keys.")                                      \
  X(list_share_sent, counter, "weir_redis_list_changes_total", "direction=\"sent\"",               \
    "Changes of shared lists that this replica has sent to Redis, or learned from Redis.")         \
  X(list_share_learned, counter, "weir_redis_list_changes_total", "direction=\"learned\"", "")     \
  X(list_share_rounds, counter, "weir_redis_list_rounds_total", "",                                \
    "Comparisons of a shared list with Redis: at the start and after failures.")                   \
  X(list_share_failures, counter, "weir_redis_list_failures_total", "",                            \
    "Calls for shared lists that failed.")                                                         \
  X(list_share_dropped, counter, "weir_redis_list_lost_total", "reason=\"dropped\"",               \
    "dropped: removals never sent, because too many changes were pending; refused: entries for "   \
    "which the list in Redis was "                                                                 \
    "full.")                                                                                       \
  X(list_share_refused, counter, "weir_redis_list_lost_total", "reason=\"refused\"", "")           \
  X(notify_sent, counter, "weir_notify_total", "result=\"sent\"",                                  \
    "Notifications, by what became of them.")                                                      \
  X(notify_dropped, counter, "weir_notify_total", "result=\"dropped\"", "")                        \
  X(notify_failed, counter, "weir_notify_total", "result=\"failed\"", "")                          \
  X(log_left_out, counter, "weir_log_lost_lines_total", "reason=\"limit\"",                        \
    "Lines left out of the log; limit: by log.verdicts_per_second; stalled: the reader of stderr " \
    "was too slow.")                                                                               \
  X(log_stalled, counter, "weir_log_lost_lines_total", "reason=\"stalled\"", "")                   \
  X(state_up, gauge, "weir_state_up", "",                                                          \
    "1 while weir can write to state.dir; 0 if not, or without state.dir.")                        \
  X(state_snapshots, counter, "weir_state_snapshots_total", "result=\"ok\"",                       \
    "Snapshots of the state, by result.")                                                          \
  X(state_failures, counter, "weir_state_snapshots_total", "result=\"failed\"", "")                \
  X(admin_requests, counter, "weir_admin_requests_total", "", "Requests to the admin API.")        \
  X(admin_refused, counter, "weir_admin_refused_total", "",                                        \
    "Requests to the admin API refused because of the token, Host or Origin.")                     \
  X(api_requests, counter, "weir_api_requests_total", "", "Requests to the event API.")            \
  X(api_refused, counter, "weir_api_refused_total", "",                                            \
    "Requests to the event API refused because of the token, Host or Origin.")                     \
  X(api_events, counter, "weir_api_events_total", "result=\"judged\"",                             \
    "Events that came through the event API, by what became of them.")                             \
  X(api_queried, counter, "weir_api_events_total", "result=\"queried\"", "")                       \
  X(api_bad, counter, "weir_api_events_total", "result=\"bad\"", "")                               \
  X(check_allowed_ext_authz, counter, "weir_checks_total",                                         \
    "door=\"ext_authz\",result=\"allowed\"",                                                       \
    "Requests that proxies have asked about, by door; failed: without a verdict.")                 \
  X(check_denied_ext_authz, counter, "weir_checks_total", "door=\"ext_authz\",result=\"denied\"",  \
    "")                                                                                            \
  X(check_failed_ext_authz, counter, "weir_checks_total", "door=\"ext_authz\",result=\"failed\"",  \
    "")                                                                                            \
  X(check_allowed_ext_authz_http, counter, "weir_checks_total",                                    \
    "door=\"ext_authz_http\",result=\"allowed\"", "")                                              \
  X(check_denied_ext_authz_http, counter, "weir_checks_total",                                     \
    "door=\"ext_authz_http\",result=\"denied\"", "")                                               \
  X(check_failed_ext_authz_http, counter, "weir_checks_total",                                     \
    "door=\"ext_authz_http\",result=\"failed\"", "")                                               \
  X(check_allowed_nginx, counter, "weir_checks_total", "door=\"nginx\",result=\"allowed\"", "")    \
  X(check_denied_nginx, counter, "weir_checks_total", "door=\"nginx\",result=\"denied\"", "")      \
  X(check_failed_nginx, counter, "weir_checks_total", "door=\"nginx\",result=\"failed\"", "")      \
  X(check_allowed_traefik, counter, "weir_checks_total", "door=\"traefik\",result=\"allowed\"",    \
    "")                                                                                            \
  X(check_denied_traefik, counter, "weir_checks_total", "door=\"traefik\",result=\"denied\"", "")  \
  X(check_failed_traefik, counter, "weir_checks_total", "door=\"traefik\",result=\"failed\"", "")  \
  X(check_allowed_caddy, counter, "weir_checks_total", "door=\"caddy\",result=\"allowed\"", "")    \
  X(check_denied_caddy, counter, "weir_checks_total", "door=\"caddy\",result=\"denied\"", "")      \
  X(check_failed_caddy, counter, "weir_checks_total", "door=\"caddy\",result=\"failed\"", "")      \
  X(check_allowed_haproxy, counter, "weir_checks_total", "door=\"haproxy\",result=\"allowed\"",    \
    "")                                                                                            \
  X(check_denied_haproxy, counter, "weir_checks_total", "door=\"haproxy\",result=\"denied\"", "")  \
  X(check_failed_haproxy, counter, "weir_checks_total", "door=\"haproxy\",result=\"failed\"", "")  \
  X(check_connections, gauge, "weir_check_connections_open", "",                                   \
    "Connections of proxies that ask over HTTP.")                                                  \
  X(check_client_unknown, counter, "weir_check_client_unknown_total", "",                          \
    "Checks without the client's address: weir took the proxy's address instead.")                 \
  X(unsettled_open, gauge, "weir_unsettled", "",                                                   \
    "Requests that a door let pass and whose answers nobody has reported yet.")                    \
  X(unsettled_expired, counter, "weir_unsettled_lost_total", "reason=\"expired\"",                 \
    "Requests released without a count; expired: no answer was reported in time; full: too many "  \
    "requests were open.")                                                                         \
  X(unsettled_full, counter, "weir_unsettled_lost_total", "reason=\"full\"", "")                   \
  X(settled_known, counter, "weir_settled_total", "result=\"settled\"",                            \
    "Answers that the app reported with a request id; unknown: no open request has this id.")      \
  X(settled_unknown, counter, "weir_settled_total", "result=\"unknown\"", "")                      \
  X(grpc_connections, counter, "weir_grpc_connections_total", "",                                  \
    "Connections accepted by the gRPC door.")                                                      \
  X(grpc_connections_open, gauge, "weir_grpc_connections_open", "",                                \
    "Connections of the gRPC door that are open now.")                                             \
  X(grpc_connections_refused, counter, "weir_grpc_connections_refused_total", "",                  \
    "Connections closed at once because the gRPC door had its maximum of connections.")            \
  X(grpc_connections_failed, counter, "weir_grpc_connections_failed_total", "",                    \
    "Connections of the gRPC door ended because there was no memory for them.")                    \
  X(grpc_tls_failed, counter, "weir_grpc_tls_failed_total", "",                                    \
    "Connections of the gRPC door whose TLS handshake failed, or made room for a newer one.")      \
  X(grpc_ok, counter, "weir_grpc_calls_total", "status=\"ok\"",                                    \
    "gRPC calls, by the status of the answer.")                                                    \
  X(grpc_cancelled, counter, "weir_grpc_calls_total", "status=\"cancelled\"", "")                  \
  X(grpc_deadline_exceeded, counter, "weir_grpc_calls_total", "status=\"deadline_exceeded\"", "")  \
  X(grpc_resource_exhausted, counter, "weir_grpc_calls_total", "status=\"resource_exhausted\"",    \
    "")                                                                                            \
  X(grpc_unimplemented, counter, "weir_grpc_calls_total", "status=\"unimplemented\"", "")          \
  X(grpc_internal, counter, "weir_grpc_calls_total", "status=\"internal\"", "")                    \
  X(grpc_unavailable, counter, "weir_grpc_calls_total", "status=\"unavailable\"", "")              \
  X(grpc_other, counter, "weir_grpc_calls_total", "status=\"other\"", "")                          \
  X(grpc_shut_out_flood, counter, "weir_grpc_shut_out_total", "reason=\"flood\"",                  \
    "gRPC connections that weir ended because of abuse, by its kind.")                             \
  X(grpc_shut_out_resets, counter, "weir_grpc_shut_out_total", "reason=\"resets\"", "")            \
  X(grpc_shut_out_fields, counter, "weir_grpc_shut_out_total", "reason=\"fields\"", "")            \
  X(grpc_shut_out_buffers, counter, "weir_grpc_shut_out_total", "reason=\"buffers\"", "")          \
  X(grpc_malformed, counter, "weir_grpc_malformed_total", "",                                      \
    "Frames to the gRPC door that are not valid HTTP/2.")                                          \
  X(grpc_pings, counter, "weir_grpc_pings_total", "",                                              \
    "PING frames that the gRPC door has received.")                                                \
  X(timeout_grpc_tls, counter, "weir_grpc_timeouts_total", "phase=\"tls\"",                        \
    "Deadlines of the gRPC door that passed, by phase.")                                           \
  X(timeout_grpc_frame, counter, "weir_grpc_timeouts_total", "phase=\"frame\"", "")                \
  X(timeout_grpc_message, counter, "weir_grpc_timeouts_total", "phase=\"message\"", "")            \
  X(timeout_grpc_answer, counter, "weir_grpc_timeouts_total", "phase=\"answer\"", "")              \
  X(timeout_grpc_write, counter, "weir_grpc_timeouts_total", "phase=\"write\"", "")                \
  X(timeout_grpc_pong, counter, "weir_grpc_timeouts_total", "phase=\"pong\"", "")                  \
  X(rate_limit_ok, counter, "weir_rate_limit_calls_total", "result=\"ok\"",                        \
    "Calls of the rate limit service, by what was answered.")                                      \
  X(rate_limit_over, counter, "weir_rate_limit_calls_total", "result=\"over_limit\"", "")          \
  X(rate_limit_errors, counter, "weir_rate_limit_calls_total", "result=\"error\"", "")             \
  X(rate_limit_given_back, counter, "weir_rate_limit_negative_hits_total", "",                     \
    "Descriptors with is_negative_hits: weir does not give hits back, and counts nothing.")        \
  X(rate_limit_grpc, counter, "weir_rate_limit_grpc_calls_total", "",                              \
    "Calls of ShouldRateLimit over gRPC, answered or not.")                                        \
  X(record_rows, counter, "weir_record_rows_total", "result=\"queued\"",                           \
    "Rows for --record; dropped: the queue was full.")                                             \
  X(record_dropped, counter, "weir_record_rows_total", "result=\"dropped\"", "")                   \
  X(record_failed, counter, "weir_record_write_failures_total", "",                                \
    "Writes to the file of --record that failed; their rows are lost.")                            \
  X(access_queued, counter, "weir_access_log_lines_total", "result=\"queued\"",                    \
    "Lines of the access log; lost: the queue was full, or the file could not be written.")        \
  X(access_lost, counter, "weir_access_log_lines_total", "result=\"lost\"", "")                    \
  X(access_failed, counter, "weir_access_log_write_failures_total", "",                            \
    "Writes of the access log that failed; their lines are lost.")                                 \
  X(spans_exported, counter, "weir_trace_requests_total", "result=\"exported\"",                   \
    "Sampled requests; exported: their spans were sent; dropped: the queue was full; failed: the " \
    "collector "                                                                                   \
    "did not take them.")                                                                          \
  X(spans_dropped, counter, "weir_trace_requests_total", "result=\"dropped\"", "")                 \
  X(spans_failed, counter, "weir_trace_requests_total", "result=\"failed\"", "")                   \
  X(audit_entries, counter, "weir_audit_entries_total", "result=\"written\"",                      \
    "Entries of the audit log; lost: the reader of the audit log did not keep up.")                \
  X(audit_lost, counter, "weir_audit_entries_total", "result=\"lost\"", "")                        \
  X(redis_up, gauge, "weir_redis_up", "",                                                          \
    "Workers that can use Redis; all workers if Redis works.")                                     \
  X(redis_nodes, gauge, "weir_redis_nodes", "state=\"known\"",                                     \
    "Redis servers, summed over the workers.")                                                     \
  X(redis_nodes_open, gauge, "weir_redis_nodes", "state=\"breaker_open\"", "")                     \
  X(redis_in_flight, gauge, "weir_redis_in_flight", "", "Operations that wait for Redis.")         \
  X(redis_operations, counter, "weir_redis_operations_total", "",                                  \
    "Operations that weir has asked Redis for.")                                                   \
  X(redis_calls, counter, "weir_redis_calls_total", "",                                            \
    "Script calls sent; one call can contain several operations.")                                 \
  X(redis_bytes, counter, "weir_redis_sent_bytes_total", "",                                       \
    "Bytes of the script calls that were sent.")                                                   \
  X(redis_resent, counter, "weir_redis_resent_total", "", "Operations that were sent again.")      \
  X(redis_connects, counter, "weir_redis_connects_total", "", "Connections made to Redis.")        \
  X(redis_round_trip_first, histogram, "weir_redis_round_trip_seconds", "le=\"0.0001\"",           \
    "Time from the sending of a script call for counters to its answer.")                          \
  X(redis_round_trip_250us, histogram, "weir_redis_round_trip_seconds", "le=\"0.00025\"", "")      \
  X(redis_round_trip_500us, histogram, "weir_redis_round_trip_seconds", "le=\"0.0005\"", "")       \
  X(redis_round_trip_1000us, histogram, "weir_redis_round_trip_seconds", "le=\"0.001\"", "")       \
  X(redis_round_trip_2500us, histogram, "weir_redis_round_trip_seconds", "le=\"0.0025\"", "")      \
  X(redis_round_trip_5000us, histogram, "weir_redis_round_trip_seconds", "le=\"0.005\"", "")       \
  X(redis_round_trip_10000us, histogram, "weir_redis_round_trip_seconds", "le=\"0.01\"", "")       \
  X(redis_round_trip_25000us, histogram, "weir_redis_round_trip_seconds", "le=\"0.025\"", "")      \
  X(redis_round_trip_50000us, histogram, "weir_redis_round_trip_seconds", "le=\"0.05\"", "")       \
  X(redis_round_trip_100000us, histogram, "weir_redis_round_trip_seconds", "le=\"0.1\"", "")       \
  X(redis_round_trip_250000us, histogram, "weir_redis_round_trip_seconds", "le=\"0.25\"", "")      \
  X(redis_round_trip_1000000us, histogram, "weir_redis_round_trip_seconds", "le=\"1\"", "")        \
  X(redis_round_trip_above, histogram, "weir_redis_round_trip_seconds", "le=\"+Inf\"", "")         \
  X(redis_round_trip_sum, histogram, "weir_redis_round_trip_seconds", "", "")                      \
  X(patterns_untold, gauge, "weir_redis_pattern_pending", "",                                      \
    "Events of shared patterns that Redis does not have yet; weir sends them when Redis is back.") \
  X(sync_keys, gauge, "weir_redis_sync_keys", "",                                                  \
    "Keys whose counts are exchanged (sync); at most an eighth of limits.keys.")                   \
  X(sync_pending, gauge, "weir_redis_sync_pending", "",                                            \
    "Keys that wait for their next exchange of counts.")                                           \
  X(sync_exchanged, counter, "weir_redis_sync_exchanges_total", "",                                \
    "Exchanges of a key's counts that Redis has answered.")                                        \
  X(sync_overshoot, counter, "weir_redis_sync_overshoot_total", "",                                \
    "Counted beyond a limit before this replica knew that the other replicas had reached the "     \
    "limit.")                                                                                      \
  X(sync_forgotten, counter, "weir_redis_sync_lost_total", "reason=\"forgotten\"",                 \
    "forgotten: keys removed for new keys, though counts of other replicas were known; full: "     \
    "keys without room, which "                                                                    \
    "are counted on this replica alone.")                                                          \
  X(sync_full, counter, "weir_redis_sync_lost_total", "reason=\"full\"", "")                       \
  X(redis_error_unavailable, counter, "weir_redis_errors_total", "kind=\"unavailable\"",           \
    "Operations without a usable answer, by cause.")                                               \
  X(redis_error_timed_out, counter, "weir_redis_errors_total", "kind=\"timed_out\"", "")           \
  X(redis_error_lost, counter, "weir_redis_errors_total", "kind=\"lost\"", "")                     \
  X(redis_error_full, counter, "weir_redis_errors_total", "kind=\"full\"", "")                     \
  X(redis_error_loading, counter, "weir_redis_errors_total", "kind=\"loading\"", "")               \
  X(redis_error_busy, counter, "weir_redis_errors_total", "kind=\"busy\"", "")                     \
  X(redis_error_read_only, counter, "weir_redis_errors_total", "kind=\"read_only\"", "")           \
  X(redis_error_moved, counter, "weir_redis_errors_total", "kind=\"moved\"", "")                   \
  X(redis_error_cluster_down, counter, "weir_redis_errors_total", "kind=\"cluster_down\"", "")     \
  X(redis_error_out_of_memory, counter, "weir_redis_errors_total", "kind=\"out_of_memory\"", "")   \
  X(redis_error_misconfigured, counter, "weir_redis_errors_total", "kind=\"misconfigured\"", "")   \
  X(redis_error_denied, counter, "weir_redis_errors_total", "kind=\"denied\"", "")                 \
  X(redis_error_wrong_type, counter, "weir_redis_errors_total", "kind=\"wrong_type\"", "")         \
  X(redis_error_no_script, counter, "weir_redis_errors_total", "kind=\"no_script\"", "")           \
  X(redis_error_malformed, counter, "weir_redis_errors_total", "kind=\"malformed\"", "")           \
  X(redis_error_invalid, counter, "weir_redis_errors_total", "kind=\"invalid\"", "")               \
  X(redis_error_refused, counter, "weir_redis_errors_total", "kind=\"refused\"", "")
