#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace weir::test {

/// A CA, and certificates of a server called redis.test and of a client.
class Certificates {
 public:
  Certificates() {
    char name[] = "/tmp/weir-tls-XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    dir = name;
    std::ofstream(dir + "/san") << "subjectAltName=DNS:redis.test,IP:127.0.0.1\n";
    make_key("ca");
    run("req -x509 -key " + dir + "/ca.key -subj /CN=ours -days 2 -out " + dir + "/ca.pem");
    make_key("other");
    run("req -x509 -key " + dir + "/other.key -subj /CN=other -days 2 -out " + dir + "/other.pem");
    for (const std::string who : {"server", "client"}) {
      make_key(who);
      run("req -new -key " + dir + "/" + who + ".key -subj /CN=" + who + " -out " + dir + "/csr");
      run("x509 -req -in " + dir + "/csr -CA " + dir + "/ca.pem -CAkey " + dir +
          "/ca.key -CAcreateserial -days 2 -extfile " + dir + "/san -out " + dir + "/" + who +
          ".pem");
    }
  }
  ~Certificates() { EXPECT_EQ(std::system(("rm -r " + dir).c_str()), 0); }
  std::string dir;

 private:
  void run(const std::string& words) {
    EXPECT_EQ(std::system(("openssl " + words + " 2>/dev/null").c_str()), 0) << words;
  }
  void make_key(const std::string& who) {
    run("ecparam -genkey -name prime256v1 -noout -out " + dir + "/" + who + ".key");
  }
};

}  // namespace weir::test
