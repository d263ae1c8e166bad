#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

#include "app/tools/inject/manifest.h"
#include "tests/app/program.h"
#include "tests/app/scratch.h"

/// weir in other people's manifests: in the right place, and all else as it was.
namespace weir::app::inject_test {
namespace {

using testing::HasSubstr;

constexpr const char* kShop = R"(# our shop
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}   # the name
spec:
  template:
    metadata:
      labels:
        app: shop
    spec:
      containers:
      - name: app   # ours
        image: "shop:1"
        ports:
        - {name: http, containerPort: 8080}
      # below the containers
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec:
  selector: {app: shop}
  ports:
    - {port: 80, targetPort: http}   # by name
)";

InjectOptions native() {
  InjectOptions out;
  out.image = "weir:1";
  return out;
}
InjectOptions classic() {
  InjectOptions out = native();
  out.classic = true;
  return out;
}

/// Every line of the text before, in its order, is in the text after.
void expect_kept(const std::string& before, const std::string& after,
                 std::vector<std::string> but = {}) {
  std::istringstream lines(before);
  std::size_t at = 0;
  for (std::string line; std::getline(lines, line);) {
    if (std::find(but.begin(), but.end(), line) != but.end()) continue;
    const std::size_t found = after.find(line + "\n", at);
    EXPECT_NE(found, std::string::npos) << "lost: " << line;
    if (found != std::string::npos) at = found;
  }
}

TEST(Inject, adds_a_native_sidecar_and_keeps_the_rest) {
  const Injected out = inject(kShop, "shop.yaml", native());
  ASSERT_EQ(out.problem, "");
  EXPECT_EQ(out.pods, 1U);
  expect_kept(kShop, out.text, {"    - {port: 80, targetPort: http}   # by name"});
  EXPECT_THAT(out.text, HasSubstr("    - {port: 80, targetPort: 8480}   # by name\n"));
  const auto documents = YAML::LoadAll(out.text);
  ASSERT_EQ(documents.size(), 2U);
  const YAML::Node spec = documents[0]["spec"]["template"]["spec"];
  const YAML::Node weir = spec["initContainers"][0];
  EXPECT_EQ(weir["name"].Scalar(), "weir");
  EXPECT_EQ(weir["image"].Scalar(), "weir:1");
  EXPECT_EQ(weir["restartPolicy"].Scalar(), "Always");
  EXPECT_EQ(weir["env"][0]["value"].Scalar(), "http://127.0.0.1:8080");
  EXPECT_EQ(weir["securityContext"]["capabilities"]["drop"][0].Scalar(), "ALL");
  EXPECT_EQ(spec["terminationGracePeriodSeconds"].Scalar(), "45");
  EXPECT_EQ(spec["volumes"][0]["configMap"]["name"].Scalar(), "weir");
  EXPECT_EQ(spec["volumes"].size(), weir["volumeMounts"].size());
  EXPECT_EQ(spec["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"].Scalar(), "5");
  const YAML::Node label =
      documents[0]["spec"]["template"]["metadata"]["labels"]["weir.example/sidecar"];
  EXPECT_EQ(label.Scalar(), "true");
  EXPECT_EQ(label.Tag(), "!") << "a label is a text, not a boolean";
}

TEST(Inject, adds_a_classic_sidecar_behind_the_app) {
  const Injected out = inject(kShop, "shop.yaml", classic());
  ASSERT_EQ(out.problem, "");
  const YAML::Node spec = YAML::LoadAll(out.text)[0]["spec"]["template"]["spec"];
  ASSERT_EQ(spec["containers"].size(), 2U);
  const YAML::Node weir = spec["containers"][1];
  EXPECT_EQ(weir["name"].Scalar(), "weir");
  EXPECT_FALSE(weir["restartPolicy"].IsDefined());
  EXPECT_FALSE(weir["startupProbe"].IsDefined());
  EXPECT_EQ(weir["lifecycle"]["preStop"]["exec"]["command"][4].Scalar(), "--hold=10s");
  EXPECT_FALSE(spec["initContainers"].IsDefined());
  EXPECT_THAT(out.text, HasSubstr("      # below the containers\n---\n"));
}

TEST(Inject, doing_it_twice_changes_nothing) {
  for (const InjectOptions& options : {native(), classic()}) {
    const Injected once = inject(kShop, "shop.yaml", options);
    const Injected twice = inject(once.text, "shop.yaml", options);
    EXPECT_EQ(twice.problem, "");
    EXPECT_EQ(twice.text, once.text);
    EXPECT_EQ(twice.pods, 0U);
    EXPECT_EQ(twice.there, 1U);
    // The other kind is not put beside it.
    EXPECT_EQ(inject(once.text, "shop.yaml", options.classic ? native() : classic()).text,
              once.text);
  }
}

constexpr const char* kContainers = "containers: [{name: app, ports: [{containerPort: 80}]}]";

TEST(Inject, knows_every_kind_of_workload) {
  const std::string spec = kContainers;
  const std::string metadata = "metadata: {name: x}, ";
  struct Case {
    const char* name;
    std::string text;
  };
  std::vector<Case> cases{
      {"pod", "{kind: Pod, " + metadata + "spec: {" + spec + "}}"},
      {"pod template", "{kind: PodTemplate, " + metadata + "template: {spec: {" + spec + "}}}"},
      {"cron job", "{kind: CronJob, " + metadata +
                       "spec: {jobTemplate: {spec: {template: {spec: {" + spec + "}}}}}}"},
      {"list", "{kind: List, items: [{kind: Pod, spec: {" + spec + "}}]}"},
      {"list of deployments",
       "{kind: DeploymentList, items: [{kind: Deployment, spec: {template: {spec: {" + spec +
           "}}}}]}"},
  };
  for (const char* kind : {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet",
                           "ReplicationController", "Job", "Rollout"}) {
    cases.push_back({kind, std::string("{kind: ") + kind + ", " + metadata +
                               "spec: {template: {spec: {" + spec + "}}}}"});
  }
  for (const Case& c : cases) {
    const Injected out = inject(c.text, "x.yaml", native());
    EXPECT_EQ(out.problem, "") << c.name;
    EXPECT_EQ(out.pods, 1U) << c.name;
    EXPECT_THAT(out.text, HasSubstr("\"name\": \"weir\"")) << c.name;
  }
}

TEST(Inject, stands_before_other_init_containers_and_beside_other_volumes) {
  const Injected out = inject(R"(kind: Pod
metadata:
  name: p
spec:
  initContainers:
    - name: migrate
      image: m
  containers:
    - image: a
      name: app
      lifecycle: {preStop: {exec: {command: [stop]}}}
      ports: [{containerPort: 7000}]
  volumes: []
  terminationGracePeriodSeconds: 30
)",
                              "p.yaml", native());
  ASSERT_EQ(out.problem, "");
  const YAML::Node spec = YAML::Load(out.text)["spec"];
  EXPECT_EQ(spec["initContainers"][0]["name"].Scalar(), "weir");
  EXPECT_EQ(spec["initContainers"][1]["name"].Scalar(), "migrate");
  EXPECT_EQ(spec["volumes"].size(), 2U);
  EXPECT_EQ(spec["terminationGracePeriodSeconds"].Scalar(), "30");
  EXPECT_FALSE(spec["containers"][0]["lifecycle"]["preStop"]["sleep"].IsDefined());
  EXPECT_THAT(out.notes.front(), HasSubstr("terminationGracePeriodSeconds is 30"));
}

TEST(Inject, says_why_not) {
  struct Case {
    std::string text;
    InjectOptions options;
    const char* says;
  };
  const std::string job =
      std::string("{kind: Job, metadata: {name: j}, spec: {template: {spec: {") + kContainers +
      "}}}}";
  const Case kCases[] = {
      {"kind: ConfigMap\n", native(), "x.yaml: no pod"},
      {"", native(), "no pod"},
      {"a: [\n", native(), "x.yaml:"},
      {job, classic(), "job/j: with --classic its pods would never complete"},
      {"{kind: Pod, metadata: {name: p}, spec: {containers: [{name: a}]}}", native(),
       "pod/p: on which port does the app listen? Say --app-port"},
      {"{kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, ports: [{containerPort: "
       "8480}]}]}}",
       native(), "listens on 8480, which is weir's"},
      {"kind: Pod\nmetadata: {name: p}\nspec:\n  volumes:\n  containers: [{name: a, ports: "
       "[{containerPort: 80}]}]\n",
       native(), "\"volumes\" is no list"},
  };
  for (const Case& c : kCases) {
    const Injected out = inject(c.text, "x.yaml", c.options);
    EXPECT_THAT(out.problem, HasSubstr(c.says)) << c.text;
    EXPECT_EQ(out.text, "");
  }
  InjectOptions port = native();
  port.app_port = "9000";
  EXPECT_THAT(inject("{kind: Pod, spec: {containers: [{name: a}]}}", "x", port).text,
              HasSubstr("127.0.0.1:9000"));
}

TEST(Inject, is_a_command) {
  const Scratch scratch;
  scratch.write("shop.yaml", kShop);
  const Outcome out =
      run_weir({"inject", "-f", "shop.yaml", "--config-map", "rules"}, scratch.path());
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_THAT(out.out, HasSubstr("registry.example/weir:"));
  EXPECT_THAT(out.out, HasSubstr("configMap: {name: rules}"));
  EXPECT_THAT(out.err, HasSubstr("deployment/shop: the app is expected at 127.0.0.1:8080"));
  EXPECT_EQ(run_weir({"inject", "-f", "missing.yaml"}, scratch.path()).code, 4);
  EXPECT_EQ(run_weir({"inject"}, scratch.path()).code, 2);
  scratch.write("none.yaml", "kind: Secret\n");
  EXPECT_EQ(run_weir({"inject", "-f", "none.yaml"}, scratch.path()).code, 1);
}

}  // namespace
}  // namespace weir::app::inject_test
