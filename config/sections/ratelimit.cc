#include <algorithm>

#include "config/sections/sections.h"
#include "config/sections/share.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"
#include "core/chars/ascii.h"

/// `ratelimit:` files of envoyproxy/ratelimit, and how calls of the rate limit service are
/// answered.
namespace weir::config {
namespace {

using RateLimit = Server::RateLimit;

void read_header(Reader& r, const Member& m, std::string& out) {
  const auto text = r.text(m);
  if (!text) return;
  const bool token =
      text->value.size() <= 64 && std::all_of(text->value.begin(), text->value.end(), [](char c) {
        return ascii::is_letter_or_digit(c) || c == '-' || c == '_';
      });
  if (!token) return r.error(*m.value, quoted(text->value) + " is not a header name");
  out = text->value;
}

constexpr Row<RateLimit> kHeaders[] = {
    {{"limit", shape::kText, "name of a header", "`RateLimit-Limit`", "The limit itself."},
     [](Reader& r, const Member& m, RateLimit& out) { read_header(r, m, out.limit_header); }},
    {{"remaining", shape::kText, "name of a header", "`RateLimit-Remaining`", "What is left."},
     [](Reader& r, const Member& m, RateLimit& out) { read_header(r, m, out.remaining_header); }},
    {{"reset", shape::kText, "name of a header", "`RateLimit-Reset`",
      "Seconds until the window ends."},
     [](Reader& r, const Member& m, RateLimit& out) { read_header(r, m, out.reset_header); }},
};

constexpr Row<RateLimit> kRateLimit[] = {
    {{"files", shape::kTexts, "path pattern, or a list of them", "",
      "Files of envoyproxy/ratelimit, read as they are; relative to this file."},
     [](Reader& r, const Member& m, RateLimit& out) { out.files = r.texts(m); }},
    {{"limitador", shape::kText, "path of a file", "",
      "A file of limitador's limits, read as it is; then the api door answers `/check`, `/report`, "
      "`/check_and_report`, `/limits/NAMESPACE` and `/counters/NAMESPACE`."},
     [](Reader& r, const Member& m, RateLimit& out) { out.limitador = r.text(m); }},
    {{"share", R"({"anyOf":[{"enum":["local","redis"]},{"$ref":"#/$defs/share"}]})",
      "`local`, `redis` or `{redis: {sync: 200ms}}`", "as `defaults` says",
      "Which processes count together for the limits of the files and of calls."},
     [](Reader& r, const Member& m, RateLimit& out) { read_share(r, m, out.share); }},
    {{"redis_keys", R"({"enum":["weir","envoyproxy"]})", "`weir` or `envoyproxy`", "`weir`",
      "`envoyproxy`: the limits of the files, and of calls, count in Redis under the "
      "keys of envoyproxy/ratelimit, so that both may run side by side. Implies `share: redis`."},
     [](Reader& r, const Member& m, RateLimit& out) {
       const auto theirs = r.choice<bool>(m, {{"weir", false}, {"envoyproxy", true}});
       if (theirs && *theirs) out.peer_keys = m.value->where;
     }},
    {{"redis_prefix", shape::kText, "text", "",
      "The prefix of the keys in Redis: `CACHE_KEY_PREFIX` of envoyproxy/ratelimit."},
     [](Reader& r, const Member& m, RateLimit& out) {
       if (const auto text = r.text(m)) out.peer_prefix = text->value;
     }},
    {{"headers", R"({"anyOf":[{"type":"boolean"},{"$ref":"#/$defs/ratelimit_headers"}]})",
      "`true`, `false`, or a map (below)", "`false`",
      "Header fields in the answer, for the client: of the limit with the least left."},
     [](Reader& r, const Member& m, RateLimit& out) {
       const auto use = [&] {
         out.limit_header = "RateLimit-Limit";
         out.remaining_header = "RateLimit-Remaining";
         out.reset_header = "RateLimit-Reset";
       };
       if (m.value->is_map()) {
         use();
         r.walk(*m.value, "\"headers\"", kHeaders, out);
       } else if (const auto on = r.boolean(m); on && *on) {
         use();
       }
     }},
    {{"shadow", shape::kBoolean, "`true` or `false`", "`false`",
      "Answer OK whatever the limits say."},
     [](Reader& r, const Member& m, RateLimit& out) { set(r.boolean(m), out.shadow); }},
    {{"quota", shape::kBoolean, "`true` or `false`", "`false`",
      "Every limit is a quota: a call is refused only where all of them refuse it."},
     [](Reader& r, const Member& m, RateLimit& out) { set(r.boolean(m), out.quota); }},
    {{"metadata", shape::kBoolean, "`true` or `false`", "`false`",
      "Return in `dynamic_metadata` the call, and the metadata of rules that pass."},
     [](Reader& r, const Member& m, RateLimit& out) { set(r.boolean(m), out.metadata); }},
    {{"json", shape::kBoolean, "`true` or `false`", "`true` where there are `files`",
      "Answer `POST /json` and `GET /healthcheck` on the api door, as envoyproxy/ratelimit does."},
     [](Reader& r, const Member& m, RateLimit& out) { set(r.boolean(m), out.json); }},
    {{"near", R"({"type":"number","minimum":0,"maximum":1})", "0 to 1", "`0.8`",
      "From this part of a limit on, hits count as near the limit in the metrics of the files' "
      "rules."},
     [](Reader& r, const Member& m, RateLimit& out) {
       const auto text = r.text(m);
       if (!text) return;
       const auto part = parse_number(text->value);
       if (!part || !(part.value->as_real() >= 0 && part.value->as_real() <= 1))
         return r.error(*m.value, quoted(text->value) + " is not a part of a limit",
                        "write a number from 0 to 1, such as 0.8");
       out.near = part.value->as_real();
     }},
    {{"merge_domains", shape::kBoolean, "`true` or `false`", "`false`",
      "Several files may have rules of the same domain."},
     [](Reader& r, const Member& m, RateLimit& out) { set(r.boolean(m), out.merge_domains); }},
};

}  // namespace

void read_rate_limit(Reader& reader, const Member& m, Server::RateLimit& out) {
  const Seen seen = reader.walk(*m.value, "\"ratelimit\"", kRateLimit, out);
  if (Reader::has(seen, kRateLimit, "redis_prefix") && !out.peer_keys) {
    reader.error(*m.value, "\"redis_prefix\" is about the keys of envoyproxy/ratelimit",
                 "write redis_keys: envoyproxy, or leave it out");
  }
  if (!out.peer_keys) return;
  if (Reader::has(seen, kRateLimit, "share") && (!out.share || out.share->sync)) {
    reader.problems().error(*out.peer_keys,
                            "envoyproxy/ratelimit's keys are asked for in Redis with each call",
                            "write share: redis, or leave share out");
  }
  if (!out.share || out.share->sync) out.share = ShareDef{*out.peer_keys, {}};
}

void add_rate_limit_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kRateLimit>("ratelimit", "\"ratelimit\"", "ratelimit",
                                   "How calls of Envoy's rate limit service are answered; "
                                   "docs/migrating.md explains the settings of "
                                   "envoyproxy/ratelimit."));
  out.push_back(doc_of<kHeaders>("ratelimit_headers", "\"headers\"", "ratelimit.headers", ""));
}

}  // namespace weir::config
