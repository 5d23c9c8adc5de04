import com.google.gson.JsonObject;
import com.pusher.pushnotifications.PushNotifications;
import com.pusher.pushnotifications.PusherAuthError;
import com.pusher.pushnotifications.PusherValidationError;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** push-notifications-server-java: publishes, tokens and users. */
final class Beams {
  private static final String LIBRARY = "push-notifications-server-java";
  private static final List<String> USERS = List.of("ann lee", "ann+lee", "zoë/7 ü%~@");
  private static final String TITLE = "Zoë's <b>☃</b>";

  private final World world;
  private final String instance;
  private final PushNotifications beams;

  Beams(World world) {
    this.world = world;
    JsonObject told = world.told.getAsJsonObject("instance");
    this.instance = told.get("id").getAsString();
    this.beams = new PushNotifications(instance, told.get("secretKey").getAsString());
  }

  private static Map<String, Map<String, Map<String, String>>> body(String title) {
    return Map.of("fcm", Map.of("notification", Map.of("title", title)));
  }

  private String titleAt(JsonObject device) throws Exception {
    return world
        .ask("notification", "token", device.get("token").getAsString())
        .getAsJsonObject("message")
        .getAsJsonObject("notification")
        .get("title")
        .getAsString();
  }

  /** A device for each user, whom the library has signed in. */
  private List<JsonObject> devices() throws Exception {
    List<JsonObject> devices = new ArrayList<>();
    for (String user : USERS) {
      JsonObject device = world.ask("device");
      String token = (String) beams.generateToken(user).get("token");
      JsonObject set = world.ask("setUser", "id", device.get("id").getAsString(), "beamsToken", token);
      World.same(set.get("userId"), user);
      devices.add(device);
    }
    return devices;
  }

  private interface Publish {
    void run() throws Exception;
  }

  private static String failure(Class<? extends Exception> kind, Publish publish) throws Exception {
    try {
      publish.run();
    } catch (Exception problem) {
      if (kind.isInstance(problem)) return problem.toString();
      throw problem;
    }
    throw new AssertionError("no " + kind);
  }

  void run() {
    world.check(
        LIBRARY,
        "publishToInterests: the notification arrives",
        () -> {
          JsonObject device = world.ask("device", "interests", "[\"java-news\",\"_-=@,.;\"]");
          for (String interest : List.of("java-news", "_-=@,.;")) {
            String id = beams.publishToInterests(List.of(interest, "java-others"), body(TITLE));
            World.same(id.startsWith("pubid-"), true);
            World.same(titleAt(device), TITLE);
          }
        });

    world.check(
        LIBRARY,
        "generateToken signs users in, and publishToUsers reaches each",
        () -> {
          List<JsonObject> devices = devices();
          for (String user : USERS) beams.publishToUsers(List.of(user), body(user));
          for (int at = 0; at < devices.size(); at++)
            World.same(titleAt(devices.get(at)), USERS.get(at));
        });

    world.check(
        LIBRARY,
        "deleteUser deletes this user and no similar one",
        () -> {
          List<JsonObject> devices = devices();
          for (int at = 0; at < devices.size(); at++) {
            beams.deleteUser(USERS.get(at));
            for (int other = 0; other < devices.size(); other++) {
              String id = devices.get(other).get("id").getAsString();
              World.same(world.ask("registered", "id", id).get("registered"), other > at);
            }
          }
        });

    world.check(
        LIBRARY,
        "errors for what the server refuses",
        () -> {
          List<String> interests = List.of("a");
          PushNotifications wrong = new PushNotifications(instance, "wrong");
          failure(PusherAuthError.class, () -> wrong.publishToInterests(interests, body(TITLE)));
          failure(
              PusherValidationError.class,
              () -> beams.publishToInterests(interests, Map.of("fcm", 7)));
        });
  }
}
