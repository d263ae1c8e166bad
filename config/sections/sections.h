#pragma once

#include "config/text/fields.h"
#include "config/text/reader.h"

/// One function per section of a file; each appends its result to the model's part. The names of
/// a section are unique across files: the caller (parse.cc) checks that once all files are read.
namespace weir::config {

void read_fields(Reader& reader, const Member& section, std::vector<FieldDef>& out);
void read_events(Reader& reader, const Member& section, std::vector<EventDef>& out);
void read_lists(Reader& reader, const Member& section, std::vector<ListDef>& out);
void read_tables(Reader& reader, const Member& section, std::vector<TableDef>& out);
void read_policies(Reader& reader, const Member& section, const PolicyDefaults& defaults,
                   std::vector<PolicyDef>& out);
void read_views(Reader& reader, const Member& section, std::vector<ViewDef>& out);
void read_notify(Reader& reader, const Member& section, std::vector<NotifyDef>& out);
/// A section of the server's own (`proxy`, `limits`, ...), by its key; false if there is none.
bool read_server(Reader& reader, const Member& section, Server& out);
void read_rate_limit(Reader& reader, const Member& m, Server::RateLimit& out);
void read_access_log(Reader& reader, const Member& m, Server& out);
void read_tracing(Reader& reader, const Member& m, Server& out);
void read_audit(Reader& reader, const Member& m, Server& out);
void read_redis(Reader& reader, const Member& m, std::optional<Server::Redis>& out);
/// Checks the whole section, from a file or the environment.
void check_redis(const Server::Redis& redis, Problems& problems);
void read_ext_authz(Reader& reader, const Member& m, std::optional<Text>& out);
void read_forward_auth(Reader& reader, const Member& m, std::vector<Server::Api::ForwardAuth>& out);
void read_authz(Reader& reader, const Member& m, Server::Authz& out);
// Whether two configurations are equal in settings that take effect at the next start.
bool same_authz(const Server::Authz& a, const Server::Authz& b);
bool same_tracing(const Server& a, const Server& b);
bool same_audit(const Server& a, const Server& b);
/// User and password aside, which a reload may rotate.
bool same_redis(const std::optional<Server::Redis>& a, const std::optional<Server::Redis>& b);
void add_access_log_changes(const Server::AccessLog& a, const Server::AccessLog& b,
                            std::vector<std::string>& out);

// Parts that more than one section reads.
/// Addresses and blocks; trust in strangers gets a warning.
void read_trust(Reader& reader, const Member& m, std::vector<Cidr>& out);
/// Reads the name of a header, in lower case.
void read_header_name(Reader& reader, const Member& m, std::string& out);
inline constexpr milliseconds kWindowShortest{1};
inline constexpr milliseconds kWindowMax = std::chrono::hours{24 * 31};
using WindowSpan = TimeSpan<kWindowShortest.count(), kWindowMax.count()>;
/// How long `delay` holds a request, and after how long an escalation starts over.
using HoldSpan = TimeSpan<1, kMinute>;
using ForgetSpan = TimeSpan<kSecond, 366 * kDay>;
void read_source(Reader& reader, const Member& m, std::optional<SourceDef>& out);
/// `on_score`: the rungs with `score_over`, which is read as `over`.
void read_rungs(Reader& reader, const Member& then, std::vector<Rung>& out,
                std::vector<std::size_t>& on_score);
void read_defaults(Reader& reader, const Member& m, PolicyDefaults& out);
std::optional<WindowDef> read_window(Reader& reader, const Member& m);
std::optional<WindowDef> read_view_window(Reader& reader, const Member& m);
void read_metric(Reader& reader, const Member& m, MetricDef& out);
void read_key(Reader& reader, const Member& m, std::vector<KeyPart>& out);
/// The fields of a list: names, `ip` also with a mask.
std::vector<KeyPart> read_list_fields(Reader& reader, const Member& m);
/// A word of the expression language, which nothing else may be named.
bool is_reserved(std::string_view name);
std::optional<NearDef> read_near(Reader& reader, const Member& m);
/// The place with a radius in a key, or null.
const NearDef* radius_of(const std::vector<KeyPart>& key);
void read_named_metrics(Reader& reader, const Member& m, std::vector<NamedMetricDef>& out);
std::vector<Text> read_event_names(Reader& reader, const Member& m);
/// Whether the value is this word: another spelling of one that is read.
inline bool is_word(const Member& m, std::string_view word) {
  return m.value->is_scalar() && m.value->text == word;
}
/// Reads a remote text. `redis`: a key of Redis is allowed. None: the reason has been reported.
std::optional<RemoteDef> read_remote(Reader& reader, const Member& m, bool redis);
/// `include:`: patterns of paths, and remote texts.
void read_includes(Reader& reader, const Member& m, std::vector<Text>& patterns,
                   std::vector<RemoteDef>& remotes);
std::optional<Action> read_effect(Reader& reader, const Member& m);
std::optional<Tell> read_tell(Reader& reader, const Member& m);
std::optional<Mode> read_mode(Reader& reader, const Member& m);
std::optional<int> read_status(Reader& reader, const Member& m);
/// The body of a refusal, and its type: a header value.
inline constexpr std::string_view kBodyRange = "text, at most 64 KiB";
inline constexpr std::string_view kBodyType = "text/plain; charset=utf-8";
void read_refusal_body(Reader& reader, const Member& m, std::string& out);
std::optional<std::string> read_header_text(Reader& reader, const Member& m);
/// The same of a media type, `text/html; charset=utf-8`.
std::optional<std::string> read_media_type(Reader& reader, const Member& m);

// Each source's tables, for all_tables().
void add_event_tables(std::vector<TableDoc>& out);
void add_source_tables(std::vector<TableDoc>& out);
void add_descriptor_tables(std::vector<TableDoc>& out);
void add_list_tables(std::vector<TableDoc>& out);
void add_remote_tables(std::vector<TableDoc>& out);
void add_table_tables(std::vector<TableDoc>& out);
void add_policy_tables(std::vector<TableDoc>& out);
void add_default_tables(std::vector<TableDoc>& out);
void add_window_tables(std::vector<TableDoc>& out);
void add_near_tables(std::vector<TableDoc>& out);
void add_named_metric_tables(std::vector<TableDoc>& out);
void add_pattern_tables(std::vector<TableDoc>& out);
void add_rung_tables(std::vector<TableDoc>& out);
void add_view_tables(std::vector<TableDoc>& out);
void add_notify_tables(std::vector<TableDoc>& out);
void add_rate_limit_tables(std::vector<TableDoc>& out);
void add_redis_tables(std::vector<TableDoc>& out);
void add_door_tables(std::vector<TableDoc>& out);
void add_observe_tables(std::vector<TableDoc>& out);
void add_server_tables(std::vector<TableDoc>& out);

/// A TableDoc of a table of rows.
template <const auto& Rows>
TableDoc doc_of(std::string_view id, std::string_view what, std::string_view title,
                std::string_view intro) {
  return {id, what, title, intro, std::size(Rows), [](std::size_t i, KeyDoc& doc) {
            doc = Rows[i].doc;
            return Rows[i].read != nullptr;
          }};
}

}  // namespace weir::config
