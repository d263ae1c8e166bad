#include "app/observe/audit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/app/scratch.h"

namespace weir::app::audit_test {
namespace {

class AuditTest : public testing::Test {
 protected:
  AuditTest() {
    EXPECT_EQ(::pipe(pipe_), 0);
    log_.emplace(Level::error, true, pipe_[1]);
    audit_.emplace(secret_, *log_, metrics_.control());
  }
  ~AuditTest() override {
    audit_.reset();
    log_.reset();
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }
  static admin::AuditEntry removal() {
    admin::AuditEntry entry;
    entry.action = "list.remove";
    entry.who = "token ops.token";
    entry.from = "127.0.0.1";
    entry.target = "banned";
    entry.key = {"203.0.113.7"};
    entry.before = {{"key", "203.0.113.7"}};
    entry.reason = "a\nb";
    return entry;
  }
  std::string logged() {
    log_->flush(milliseconds{5'000});
    char text[8192];
    const ssize_t n = ::read(pipe_[0], text, sizeof text);
    return std::string(text, n > 0 ? static_cast<std::size_t>(n) : 0);
  }

  const Scratch scratch_;
  int pipe_[2]{};
  HashSecret secret_ = HashSecret::from_text("s");
  telemetry::Metrics metrics_{1};
  std::optional<Log> log_;
  std::optional<Audit> audit_;
};

TEST_F(AuditTest, IntoTheLogWhateverItsLevelAndWithoutKeys) {
  ASSERT_TRUE(audit_->open("", 10));
  audit_->tell(removal());
  const std::string line = logged();
  EXPECT_NE(
      line.find(
          "\"message\":\"audit\",\"number\":1,\"action\":\"list.remove\",\"done\":\"yes\","
          "\"who\":\"token ops.token\",\"from\":\"127.0.0.1\",\"target\":\"banned\",\"key\":\"#"),
      std::string::npos)
      << line;
  EXPECT_EQ(line.find("203.0.113.7"), std::string::npos) << line;
  EXPECT_NE(line.find("\"reason\":\"a\\u000ab\""), std::string::npos) << line;
  audit_->use(true);
  audit_->tell(removal());
  EXPECT_NE(logged().find("\"key\":\"203.0.113.7\",\"before\":"), std::string::npos);
}

TEST_F(AuditTest, IntoAFileOfItsOwnWhole) {
  ASSERT_TRUE(audit_->open(scratch_ / "audit.log", 10));
  audit_->tell(removal());
  audit_.reset();
  const std::string text = scratch_.read("audit.log");
  EXPECT_NE(
      text.find(
          "\"key\":[\"203.0.113.7\"],\"before\":{\"key\":\"203.0.113.7\"},\"reason\":\"a\\nb\"}\n"),
      std::string::npos)
      << text;
}

TEST_F(AuditTest, KeepsTheLastOnesOnly) {
  ASSERT_TRUE(audit_->open(scratch_ / "audit.log", 3));
  for (int i = 0; i < 5; ++i) audit_->tell(removal());
  const admin::AuditPage page = audit_->last(100);
  ASSERT_EQ(page.entries.size(), 3U);
  EXPECT_EQ(page.entries.front().number, 3U);
  EXPECT_EQ(audit_->last(1).entries.front().number, 5U);
  EXPECT_EQ(page.lost, 0U);
  EXPECT_EQ(metrics_.sum(telemetry::Metric::audit_entries), 5);
}

TEST_F(AuditTest, SaysWhatItCouldNotWrite) {
  ASSERT_TRUE(audit_->open("/dev/full", 10));
  audit_->tell(removal());
  const auto until = Clock::wall() + milliseconds{10'000};
  while (audit_->last(1).lost == 0 && Clock::wall() < until) {
  }
  audit_->tick();
  EXPECT_EQ(metrics_.sum(telemetry::Metric::audit_lost), 1);
  EXPECT_NE(logged().find("entries of the audit could not be written"), std::string::npos);
}

TEST_F(AuditTest, GoesOnInTheFileThatHasTheNameNow) {
  ASSERT_TRUE(audit_->open(scratch_ / "audit.log", 3));
  ASSERT_EQ(::rename((scratch_ / "audit.log").c_str(), (scratch_ / "old.log").c_str()), 0);
  audit_->tick();
  audit_->tell(removal());
  audit_.reset();
  EXPECT_EQ(scratch_.read("old.log"), "");
  EXPECT_NE(scratch_.read("audit.log").find("list.remove"), std::string::npos);
}

}  // namespace
}  // namespace weir::app::audit_test
