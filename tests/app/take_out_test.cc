#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "app/tools/inject/manifest.h"
#include "tests/app/program.h"
#include "tests/app/scratch.h"

/// weir out of the manifests that it was put into: they are what they were.
namespace weir::app::take_out_test {
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
      # above the containers
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
    - {port: 80, targetPort: 8080}   # by number
)";

InjectOptions options(bool classic, const char* port = "") {
  InjectOptions out;
  out.image = "weir:1";
  out.classic = classic;
  out.app_port = port;
  return out;
}

std::string injected(const std::string& text, bool classic = false) {
  const Injected out = inject({{"x", text}}, options(classic));
  EXPECT_EQ(out.problem, "") << text;
  return out.text;
}

Injected taken(const std::string& text, const char* port = "") {
  return take_out({{"x", text}}, options(false, port));
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
}

TEST(TakeOut, gives_manifests_back_byte_for_byte) {
  const std::string forms[] = {
      kShop,
      // Without labels; lists of its own, in flow form and in block form; no line end at the end.
      R"(kind: Pod
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
  terminationGracePeriodSeconds: 30)",
      R"(kind: StatefulSet
metadata: {name: s}
spec:
  template:
    metadata: {name: s, labels: {}}
    spec:
      volumes:
      - name: data
        emptyDir: {}

      # theirs
      containers:
        -  name: app
           args: ["it's", "a \"b\", c]", '}', x#y]
           ports:
             - containerPort: 3000
        -  image: second
      restartPolicy: Always
)",
      "{kind: Pod, metadata: {name: p, labels: {a: b}}, spec: {containers: [{name: app, args: "
      "['a, b', \"]\\\"\"], ports: [{containerPort: 80}]}, {name: b}], volumes: []}}",
      R"({
  "kind": "List",
  "items": [
    {
      "kind": "DaemonSet",
      "metadata": {"name": "d"},
      "spec": {
        "template": {
          "metadata": {
            "labels": {
              "app": "d"
            }
          },
          "spec": {
            "containers": [
              {
                "name": "app",
                "ports": [
                  {"containerPort": 3000}
                ]
              }
            ],
            "volumes": [
              {"name": "a", "emptyDir": {}}
            ]
          }
        }
      }
    },
    {
      "kind": "Service",
      "metadata": {"name": "d"},
      "spec": {
        "selector": {"app": "d"},
        "ports": [
          {
            "port": 3000
          }
        ]
      }
    }
  ]
}
)",
      R"(kind: List
items:
- kind: Deployment
  metadata: {name: a}
  spec:
    template: &shared
      metadata:
        labels: {app: a}
      spec:
        containers:
        - {name: a, ports: [{containerPort: 3000}]}
- kind: DaemonSet
  metadata: {name: b}
  spec: {template: *shared}
- kind: Service
  metadata: {name: s}
  spec:
    selector: {app: a}
    ports:
    - name: http
      port: 3000
)",
      "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a}]}\n",
      // The manifest has the additions of inject, where inject would put them.
      R"(kind: Deployment
metadata: {name: own}
spec:
  template:
    metadata:
      annotations: {a: b}
      labels:
        weir.example/sidecar: "true"
        app: own
    spec:
      terminationGracePeriodSeconds: 60
      containers:
        - name: app
          lifecycle: {preStop: {sleep: {seconds: 5}}}
        - name: second
          lifecycle: {preStop: {exec: {command: [sleep, "5"]}}}
        - name: third
)",
      "{kind: Pod, metadata: {annotations: {}, name: p}, spec: {terminationGracePeriodSeconds: 60, "
      "containers: [{lifecycle: {preStop: {sleep: {seconds: 5}}}, name: app}]}}",
      // A template without metadata, or with nothing in it.
      R"(kind: Deployment
metadata: {name: d}
spec:
  template:
    spec:
      containers: [{name: a}]
)",
      "kind: DaemonSet\nspec:\n  template:\n    metadata: {}\n    spec:\n      containers: [{name: "
      "a}]\n",
      "{kind: ReplicaSet, spec: {template: {spec: {containers: [{name: a}]}}}}",
      "{kind: ReplicaSet, spec: {template: {metadata: { }, spec: {containers: [{name: a}]}}}}",
      // Empty lists and maps in front, where inject would put its own.
      "{kind: Pod, metadata: {annotations: {}, labels: {a: b}}, spec: {volumes: [], containers: "
      "[{name: a}]}}",
      "{kind: Pod, metadata: {labels: {}, name: p}, spec: {initContainers: [], containers: "
      "[{name: a}]}}",
      // Templates that share their labels, or all of their metadata.
      R"(kind: List
items:
- kind: Deployment
  spec:
    template:
      metadata: {labels: &labels {app: a}}
      spec: {containers: [{name: a}]}
- kind: Deployment
  spec:
    template:
      metadata: &metadata
        labels: *labels
      spec: {containers: [{name: a}]}
- kind: Deployment
  spec:
    template:
      metadata: *metadata
      spec: {containers: [{name: a}]}
)",
  };
  for (const std::string& form : forms) {
    for (const bool classic : {false, true}) {
      for (const bool returns : {false, true}) {
        std::string text = form;
        if (returns) replace_all(text, "\n", "\r\n");
        const std::string with = injected(text, classic);
        ASSERT_NE(with, text);
        const Injected out = taken(with);
        EXPECT_EQ(out.problem, "") << with;
        // A list in block form that goes to the end of the text ends with a line then.
        EXPECT_EQ(out.text, text) << with;
        EXPECT_EQ(injected(with, classic), with) << "weir is there already";
        EXPECT_EQ(taken(text).text, text) << "there is nothing to take out";
      }
    }
  }
}

TEST(TakeOut, doing_it_twice_changes_nothing) {
  const Injected once = taken(injected(kShop));
  EXPECT_EQ(once.pods, 1U);
  const Injected twice = taken(once.text);
  EXPECT_EQ(twice.problem, "");
  EXPECT_EQ(twice.text, once.text);
  EXPECT_EQ(twice.pods, 0U);
  EXPECT_THAT(twice.notes, testing::Contains("deployment/shop: has no weir; left as it is"));
}

TEST(TakeOut, keeps_the_mark_of_the_byte_order) {
  const std::string text = std::string("\xEF\xBB\xBF") + kShop;
  EXPECT_EQ(taken(injected(text)).text, text);
}

TEST(TakeOut, points_services_at_the_number_of_the_app) {
  std::string text = kShop;
  replace_all(text, "targetPort: 8080", "targetPort: http");
  EXPECT_EQ(taken(injected(text)).text, kShop);
  // The pod and its Service may be in different files.
  const std::string with = injected(kShop);
  const std::size_t second = with.find("---\n");
  const Injected out =
      take_out({{"pod", with.substr(0, second)}, {"service", with.substr(second)}}, options(false));
  EXPECT_EQ(out.text, kShop);
  EXPECT_THAT(out.notes, testing::Contains("service/shop: targetPort is the app's again, 8080"));
}

TEST(TakeOut, keeps_what_people_have_written_since) {
  std::string text = injected(kShop, true);
  replace_all(text, "      # below the containers\n",
              "      # a second one\n      - name: logs\n        image: l\n"
              "      # below the containers\n");
  replace_all(text, "image: weir:1", "image: weir:2\n        # pinned");
  replace_all(text, "      containers:\n",
              "      # what follows are containers\n      containers:\n");
  std::string expected = kShop;
  replace_all(expected, "      # below the containers\n",
              "      # a second one\n      - name: logs\n        image: l\n"
              "      # below the containers\n");
  replace_all(expected, "      containers:\n",
              "      # what follows are containers\n      containers:\n");
  const Injected out = taken(text);
  ASSERT_EQ(out.problem, "");
  EXPECT_EQ(out.text, expected) << text;
}

/// As `kubectl get -o yaml` has it: keys by the alphabet. `annotations` with its line ends.
std::string from_cluster(const std::string& annotations) {
  return R"(kind: Deployment
metadata:
  name: shop
spec:
  template:
    metadata:
)" + annotations +
         R"(      labels:
        app: shop
        weir.example/sidecar: "true"
    spec:
      containers:
      - image: shop:1
        imagePullPolicy: Always
        lifecycle:
          preStop:
            sleep:
              seconds: 5
        name: app
        volumeMounts:
        - mountPath: /run/weir
          name: weir-run
      initContainers:
      - env:
        - name: WEIR_PROXY_UPSTREAM
          value: http://127.0.0.1:8080
        name: weir
      restartPolicy: Always
      terminationGracePeriodSeconds: 60
      volumes:
      - configMap:
          name: weir
        name: weir-config
      - emptyDir: {}
        name: weir-run
)";
}

std::string marked(const char* marks) {
  return from_cluster("      annotations:\n        weir.example/added: " + std::string(marks) +
                      "\n");
}

constexpr const char* kKeepsVolume =
    "deployment/shop: it keeps the volume weir-run, which container app mounts";
constexpr const char* kIsOut = "deployment/shop: weir is out of it";

constexpr const char* kHookOfCluster = R"(        lifecycle:
          preStop:
            sleep:
              seconds: 5
)";
constexpr const char* kGraceOfCluster = "      terminationGracePeriodSeconds: 60\n";

/// from_cluster() without weir, and without what else is named.
std::string without(std::initializer_list<std::string_view> more) {
  std::string out = from_cluster("");
  for (const char* ours : {R"(      initContainers:
      - env:
        - name: WEIR_PROXY_UPSTREAM
          value: http://127.0.0.1:8080
        name: weir
)",
                           R"(      - configMap:
          name: weir
        name: weir-config
)"})
    replace_all(out, ours, "");
  for (const std::string_view each : more) replace_all(out, each, "");
  return out;
}

// Of an older weir, for instance.
TEST(TakeOut, leaves_what_no_annotation_names_and_says_so) {
  const Injected out = taken(from_cluster(""));
  ASSERT_EQ(out.problem, "");
  EXPECT_EQ(out.text, without({"        weir.example/sidecar: \"true\"\n"}));
  EXPECT_THAT(
      out.notes,
      testing::ElementsAre(
          kKeepsVolume,
          "deployment/shop: terminationGracePeriodSeconds stays 60; it may be the pod's own, for "
          "the pod has no annotation weir.example/added",
          "deployment/shop: container app keeps its preStop hook; it may be the pod's own, for the "
          "pod has no annotation weir.example/added",
          kIsOut));
}

TEST(TakeOut, takes_what_the_annotation_names_wherever_it_stands) {
  const char* const label = "        weir.example/sidecar: \"true\"\n";
  const Injected all = taken(marked("grace-period,label,hook:app"));
  ASSERT_EQ(all.problem, "");
  EXPECT_EQ(all.text, without({label, kHookOfCluster, kGraceOfCluster}));
  EXPECT_THAT(all.notes, testing::ElementsAre(kKeepsVolume, kIsOut));

  const Injected hook = taken(marked("label,hook:other,hook:app,of-a-newer-weir"));
  EXPECT_EQ(hook.text, without({label, kHookOfCluster}));
  // That a list was empty before says nothing of one in block form, which can't be.
  EXPECT_EQ(taken(marked("grace-period,label,hook:app,empty:initContainers")).text, all.text);
  const Injected none = taken(marked("none"));
  EXPECT_EQ(none.text, without({}));
  EXPECT_THAT(none.notes, testing::ElementsAre(kKeepsVolume, kIsOut));
}

TEST(TakeOut, leaves_a_grace_period_and_a_hook_that_people_have_changed_since) {
  std::string text = marked("grace-period,label,hook:app");
  replace_all(text, "seconds: 5", "seconds: 15");
  replace_all(text, "Seconds: 60", "Seconds: 90");
  const Injected out = taken(text);
  ASSERT_EQ(out.problem, "");
  EXPECT_THAT(out.text, HasSubstr("seconds: 15"));
  EXPECT_THAT(out.text, HasSubstr("terminationGracePeriodSeconds: 90"));
  EXPECT_THAT(
      out.notes,
      testing::ElementsAre(
          kKeepsVolume,
          "deployment/shop: terminationGracePeriodSeconds stays 90, which is not what inject has "
          "added",
          "deployment/shop: container app keeps its preStop hook, which is not what inject has "
          "added",
          kIsOut));
}

TEST(TakeOut, takes_the_last_members_of_a_map_and_of_a_list) {
  const Injected out = taken(R"(kind: Pod
metadata:
  name: p
  labels:
    weir.example/sidecar: "true"
spec:
  containers:
  - name: app
  - name: weir
    image: weir:1
    args:
    - serve
  volumes:
  - name: weir-config
    configMap: {name: weir}

# the end
)");
  ASSERT_EQ(out.problem, "");
  EXPECT_EQ(out.text,
            "kind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - name: app\n\n# the end\n");
}

TEST(TakeOut, takes_texts_that_look_like_comments) {
  const Injected out = taken(R"(kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: weir
    image: weir:1
    args:
    - |
      serve
      # no comment

  # the app's
  - name: app
    image: a
)");
  ASSERT_EQ(out.problem, "");
  EXPECT_EQ(out.text, R"(kind: Pod
metadata: {name: p}
spec:
  containers:
  # the app's
  - name: app
    image: a
)");
}

TEST(TakeOut, takes_containers_with_dashes_before_their_first_key) {
  const Injected out = taken(R"(kind: Pod
metadata: {name: p}
spec:
  containers:
  - &my-app
    name: app
  - &my-weir   # a side-car
    name: weir
    image: weir:1
  -   # a side-car - of ours
    # - logs
    name: logs
)");
  ASSERT_EQ(out.problem, "");
  EXPECT_EQ(out.text, R"(kind: Pod
metadata: {name: p}
spec:
  containers:
  - &my-app
    name: app
  -   # a side-car - of ours
    # - logs
    name: logs
)");
}

TEST(TakeOut, says_why_not) {
  const std::string pod =
      "kind: Pod\nmetadata: {name: p, labels: {app: a}}\nspec:\n  containers:\n";
  EXPECT_THAT(taken(pod + "  - {name: weir}\n").problem,
              HasSubstr("x: pod/p: it has no container but weir"));
  EXPECT_THAT(taken("kind: Secret\n").problem, HasSubstr("no pod"));
  EXPECT_THAT(taken("a: [").problem, HasSubstr("x:1:"));
  const std::string unknown =
      pod +
      "  - {name: a}\n  - {name: weir}\n---\nkind: Service\nmetadata: {name: s}\nspec: "
      "{selector: {app: a}, ports: [{port: 80, targetPort: 8480}]}\n";
  EXPECT_THAT(taken(unknown).problem, HasSubstr("service/s: weir.yaml says where the app listens"));
  EXPECT_THAT(taken(unknown, "3000").text, HasSubstr("targetPort: 3000"));
}

TEST(TakeOut, is_a_command) {
  const Scratch scratch;
  scratch.write("shop.yaml", kShop);
  const Outcome with = run_weir({"inject", "-f", "shop.yaml"}, scratch.path());
  scratch.write("with.yaml", with.out);
  const Outcome out = run_weir({"inject", "--remove", "-f", "with.yaml"}, scratch.path());
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_EQ(out.out, kShop);
  EXPECT_THAT(out.err, HasSubstr("deployment/shop: weir is out of it"));
  scratch.write("none.yaml", "kind: Secret\n");
  EXPECT_EQ(run_weir({"inject", "--remove", "-f", "none.yaml"}, scratch.path()).code, 1);
}

}  // namespace
}  // namespace weir::app::take_out_test
