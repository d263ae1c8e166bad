package echo;

import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.CookieValue;
import org.springframework.web.bind.annotation.ModelAttribute;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** Answers with what each common way of Spring to read `user_id` reads. */
@SpringBootApplication
@RestController
public class Echo {
  /** The bean that JSON bodies and forms are bound to. */
  public static class Form {
    private String userId;

    public String getUser_id() {
      return userId;
    }

    public void setUser_id(String value) {
      userId = value;
    }
  }

  /** The same with a bean inside. */
  public static class Nested {
    private User user;

    public User getUser() {
      return user;
    }

    public void setUser(User value) {
      user = value;
    }

    String read() {
      return user == null ? null : user.getEmail();
    }
  }

  /** The bean inside. */
  public static class User {
    private String email;

    public String getEmail() {
      return email;
    }

    public void setEmail(String value) {
      email = value;
    }
  }

  private final ObjectMapper mapper;
  private final ObjectMapper anyCase =
      JsonMapper.builder().enable(MapperFeature.ACCEPT_CASE_INSENSITIVE_PROPERTIES).build();

  public Echo(ObjectMapper mapper) {
    this.mapper = mapper;
  }

  public static void main(String[] args) {
    SpringApplication.run(Echo.class, args);
  }

  private static String read(ObjectMapper mapper, byte[] body) {
    try {
      return mapper.readValue(body, Form.class).getUser_id();
    } catch (IOException | RuntimeException error) {
      return null;
    }
  }

  private static Map<String, String> present(String... pairs) {
    Map<String, String> out = new LinkedHashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      if (pairs[i + 1] != null) out.put(pairs[i], pairs[i + 1]);
    }
    return out;
  }

  @PostMapping(
      path = "/body",
      consumes = {"application/json", "application/*+json", "text/json", "text/plain"})
  public Map<String, String> json(@RequestBody(required = false) byte[] body) {
    if (body == null) return Map.of();
    return present("mapper", read(mapper, body), "any case", read(anyCase, body));
  }

  @PostMapping({"/body", "/query"})
  public Map<String, String> parameters(
      @RequestParam(name = "user_id", required = false) String parameter,
      @ModelAttribute Form form) {
    return present("parameter", parameter, "bean", form.getUser_id());
  }

  @PostMapping(path = "/nested", consumes = {"application/json"})
  public Map<String, String> nestedJson(@RequestBody(required = false) byte[] body) {
    try {
      return body == null ? Map.of() : present("mapper", mapper.readValue(body, Nested.class).read());
    } catch (IOException | RuntimeException error) {
      return Map.of();
    }
  }

  @PostMapping("/nested")
  public Map<String, String> nested(
      @RequestParam(name = "user[email]", required = false) String brackets,
      @RequestParam(name = "user.email", required = false) String point,
      @ModelAttribute Nested bean) {
    return present("brackets", brackets, "point", point, "bean", bean.read());
  }

  @PostMapping("/header")
  public Map<String, String> header(
      @RequestHeader(name = "X-User-Id", required = false) String value,
      @RequestHeader(name = "X_User_Id", required = false) String underscores) {
    return present("header", value, "underscores", underscores);
  }

  @PostMapping("/cookie")
  public Map<String, String> cookie(@CookieValue(name = "user_id", required = false) String value) {
    return present("cookie", value);
  }
}
