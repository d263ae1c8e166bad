#include "app/tools/ctl/ctl_dashboard.h"

#include <gtest/gtest.h>

namespace weir::app::ctl_dashboard_test {

TEST(CtlDashboard, MakesTheAddressOfADoorOneForABrowser) {
  EXPECT_EQ(dashboard_url("127.0.0.1:8481", "/#login=x"), "http://127.0.0.1:8481/#login=x");
  EXPECT_EQ(dashboard_url(":9000", "/"), "http://127.0.0.1:9000/");
  EXPECT_EQ(dashboard_url("http://weir.shop:8481/", "/"), "http://weir.shop:8481/");
  EXPECT_EQ(dashboard_url("[::1]:8481", "/"), "http://[::1]:8481/");
  EXPECT_EQ(dashboard_url("unix:/run/weir/admin.sock", "/"), "http://localhost:8481/");
}

}  // namespace weir::app::ctl_dashboard_test
