#include <gtest/gtest.h>

#include "config/load.h"
#include "tests/config/golden_problems.h"

namespace weir::config::observe_test {
namespace {

using golden_problems::Mistake;
using telemetry::AccessField;

Server server_of(const std::string& text, const Environment& environment = {}) {
  Problems problems;
  const Model model = parse({{"weir.yaml", "weir: 1\n" + text}}, environment, problems);
  EXPECT_TRUE(problems.all().empty()) << problems.all().front().message;
  return model.server;
}

TEST(Observe, AnAccessLogSaysWhatItsSectionSays) {
  EXPECT_FALSE(server_of("").access_log.is_on);
  const auto plain = server_of("access_log: {path: /var/log/weir/access.log}\n").access_log;
  EXPECT_TRUE(plain.is_on);
  EXPECT_EQ(plain.path, "/var/log/weir/access.log");
  EXPECT_EQ(plain.wants.sample, 1);
  EXPECT_TRUE(plain.wants.always_refused);
  EXPECT_FALSE(plain.wants.always_errors);
  EXPECT_EQ(plain.wants.fields, telemetry::default_access_fields());
  const auto chosen = server_of(
                          "access_log: {sample: 1%, always: [errors], format: json, "
                          "fields: [time, request_id, user_agent]}\n")
                          .access_log;
  EXPECT_EQ(chosen.path, "stdout");
  EXPECT_EQ(chosen.wants.sample, 0.01);
  EXPECT_FALSE(chosen.wants.always_refused);
  EXPECT_TRUE(chosen.wants.always_errors);
  EXPECT_EQ(chosen.wants.fields,
            (std::vector{AccessField::time, AccessField::request_id, AccessField::user_agent}));
  EXPECT_FALSE(server_of("access_log: {always: none}\n").access_log.wants.always_refused);
  EXPECT_EQ(server_of("access_log: {sample: 0.25}\n").access_log.wants.sample, 0.25);
  const auto by_environment =
      server_of("", {{"WEIR_ACCESS_LOG_PATH", "stderr"}, {"WEIR_ACCESS_LOG_SAMPLE", "10%"}});
  EXPECT_TRUE(by_environment.access_log.is_on);
  EXPECT_EQ(by_environment.access_log.path, "stderr");
  EXPECT_EQ(by_environment.access_log.wants.sample, 0.1);
}

TEST(Observe, TracesAndTheAuditHaveTheirSections) {
  EXPECT_FALSE(server_of("").tracing.endpoint);
  EXPECT_FALSE(server_of("").audit.path);
  const Server server = server_of(
      "tracing: {endpoint: 'http://otel:4318', sample: 50%, service: shop}\n"
      "audit: {path: /var/log/weir/audit.log, keep: 10}\n");
  EXPECT_EQ(server.tracing.endpoint->value, "http://otel:4318");
  EXPECT_EQ(server.tracing.sample, 0.5);
  EXPECT_EQ(server.tracing.service, "shop");
  EXPECT_EQ(server.audit.path->value, "/var/log/weir/audit.log");
  EXPECT_EQ(server.audit.keep, 10U);
}

TEST(Observe, SaysWhatIsWrong) {
  golden_problems::expect_golden(
      "observe.txt",
      {
          {"a field that is none", "access_log: {fields: [time, request-id, latency]}\n"},
          {"a field twice", "access_log: {fields: [time, time]}\n"},
          {"no part of all", "access_log: {sample: 150%}\n"},
          {"no number", "access_log: {sample: some}\n"},
          {"always what", "access_log: {always: [refused, slow]}\n"},
          {"another format", "access_log: {format: combined}\n"},
          {"a collector behind TLS", "tracing: {endpoint: 'https://otel:4318'}\n"},
          {"no address", "tracing: {endpoint: otel}\n"},
          {"too many to keep", "audit: {keep: 1000000}\n"},
          {"an unknown key", "access_log: {file: x}\n"},
      });
}

}  // namespace
}  // namespace weir::config::observe_test
