// The table of the doors beside the proxy, and the process's use of it.
#include <gtest/gtest.h>

#include "app/doors/front_doors.h"
#include "telemetry/metrics.h"

namespace weir::app::door_rows_test {
namespace {

config::Server without_doors() {
  config::Server settings;
  settings.grpc.none = true;
  return settings;
}

TEST(DoorRows, names_differ_and_are_those_of_sections) {
  for (const DoorRow& row : door_rows()) {
    EXPECT_NE(std::string(row.name), "");
    EXPECT_NE(std::string(row.title), "");
    for (const DoorRow& other : door_rows()) {
      EXPECT_TRUE(&row == &other || std::string(row.name) != other.name);
    }
  }
}

TEST(DoorRows, a_default_address_is_wanted_but_not_asked_for) {
  const config::Server settings;
  EXPECT_EQ(wanted_doors(settings), 1U);
  EXPECT_FALSE(asks_for_door(settings));
  EXPECT_EQ(wanted_doors(without_doors()), 0U);
}

TEST(DoorRows, an_address_of_the_configuration_is_asked_for) {
  config::Server settings;
  settings.grpc.listen = config::Located<config::Endpoint>{{"127.0.0.1", 1234, ""}, {}};
  EXPECT_EQ(wanted_doors(settings), 1U);
  EXPECT_TRUE(asks_for_door(settings));
}

TEST(DoorRows, whoever_only_answers_rate_limit_calls_over_http_is_asked) {
  EXPECT_FALSE(is_asked(config::Server{}));
  EXPECT_FALSE(is_asked(without_doors()));
  config::Server files = without_doors(), limits = without_doors(), json = without_doors();
  files.ratelimit.files = {{"limits.yaml", {}}};
  limits.ratelimit.limitador = config::Text{"limits.yaml", {}};
  json.ratelimit.json = true;
  config::Server authz = without_doors(), grpc;
  authz.api.ext_authz = config::Text{"/ext_authz", {}};
  grpc.grpc.listen = config::Located<config::Endpoint>{{"127.0.0.1", 1234, ""}, {}};
  for (config::Server* const settings : {&files, &limits, &json, &authz, &grpc}) {
    EXPECT_TRUE(is_asked(*settings));
    settings->api.none = true;
    EXPECT_EQ(is_asked(*settings), settings == &grpc);
  }
}

TEST(DoorRows, the_log_says_of_each_door_where_it_is) {
  const config::Server settings = without_doors();
  telemetry::Metrics metrics(1);
  FrontDoors front_doors;
  EXPECT_EQ(front_doors.make({settings, 1 << 20, 100, metrics.rules()}), "");
  LogLine line("ready");
  front_doors.say_where(line);
  for (const DoorRow& row : door_rows()) {
    EXPECT_NE(line.to_json(Level::info, {}).find(std::string(row.name) + "\":\"none\""),
              std::string::npos);
  }
}

TEST(DoorRows, certificates_that_cannot_be_read_are_named_by_their_setting) {
  config::Server settings;
  settings.grpc.tls.emplace();
  settings.grpc.tls->cert.value = settings.grpc.tls->key.value = "/nowhere/cert.pem";
  telemetry::Metrics metrics(1);
  FrontDoors front_doors;
  const std::string why = front_doors.make({settings, 1 << 20, 100, metrics.rules()});
  EXPECT_TRUE(why.starts_with("grpc.tls: ")) << why;
}

}  // namespace
}  // namespace weir::app::door_rows_test
