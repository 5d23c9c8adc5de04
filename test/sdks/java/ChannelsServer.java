import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.pusher.rest.Pusher;
import com.pusher.rest.data.Event;
import com.pusher.rest.data.PresenceUser;
import com.pusher.rest.data.Result;
import com.pusher.rest.data.Validity;
import java.util.List;
import java.util.Map;

/** pusher-http-java: triggers, queries, signatures and webhooks. */
final class ChannelsServer {
  private static final String LIBRARY = "pusher-http-java";

  private final World world;
  final Pusher pusher;

  ChannelsServer(World world) {
    this.world = world;
    this.pusher = pusher(world.appText("secret"));
  }

  /** For the server with TLS. */
  Pusher secure() {
    Pusher made = pusher(world.appText("secret"));
    made.setHost("localhost:" + world.told.get("tlsPort").getAsInt());
    made.setEncrypted(true);
    return made;
  }

  private Pusher pusher(String secret) {
    Pusher made =
        new Pusher(
            world.appText("id"),
            world.appText("key"),
            secret,
            world.told.get("encryptionMasterKeyBase64").getAsString());
    made.setHost("127.0.0.1:" + world.told.get("port").getAsInt());
    return made;
  }

  /** The answer to a request that must succeed. */
  JsonObject done(Result result) {
    World.same(result.getStatus().name() + " " + result.getMessage(), "SUCCESS " + result.getMessage());
    return World.JSON.fromJson(result.getMessage(), JsonObject.class);
  }

  private String connect() throws Exception {
    return world.ask("connect").get("socketId").getAsString();
  }

  private String subscribed(String channel) throws Exception {
    String socketId = connect();
    world.ask("subscribe", "socketId", socketId, "channel", channel);
    return socketId;
  }

  String inPrivate(String channel) throws Exception {
    String socketId = connect();
    String auth = pusher.authenticate(socketId, channel);
    world.ask("subscribe", "socketId", socketId, "channel", channel, "auth", auth);
    return socketId;
  }

  /** Joins as a user, and returns the client with what pusher-js knows of the channel. */
  JsonObject present(String channel, String user) throws Exception {
    String socketId = connect();
    String auth =
        pusher.authenticate(
            socketId, channel, new PresenceUser(user, Map.of("name", World.PAYLOAD.get("text"))));
    JsonObject data =
        world
            .ask("subscribe", "socketId", socketId, "channel", channel, "auth", auth)
            .getAsJsonObject("data");
    data.addProperty("socketId", socketId);
    return data;
  }

  JsonObject next(String socketId, String channel) throws Exception {
    return world.ask("event", "socketId", socketId, "channel", channel);
  }

  void run() {
    world.check(
        LIBRARY,
        "trigger to one channel",
        () -> {
          String ann = subscribed("java-one");
          done(pusher.trigger("java-one", "paid", World.PAYLOAD));
          World.same(next(ann, "java-one"), World.event("paid", World.PAYLOAD));
        });

    world.check(
        LIBRARY,
        "trigger to several channels, without the sender",
        () -> {
          String ann = subscribed("java-many");
          String bob = subscribed("java-many");
          List<String> channels = List.of("java-many", "java-others");
          done(pusher.trigger(channels, "first", "text", ann));
          done(pusher.trigger(channels, "second", List.of(1, 2)));
          World.same(next(bob, "java-many"), World.event("first", "text"));
          World.same(next(ann, "java-many"), World.event("second", List.of(1, 2)));
        });

    world.check(
        LIBRARY,
        "trigger of a batch",
        () -> {
          String ann = subscribed("java-batch");
          done(
              pusher.trigger(
                  List.of(
                      new Event("java-batch", "unseen", 1, ann),
                      new Event("java-batch", "seen", World.PAYLOAD))));
          World.same(next(ann, "java-batch"), World.event("seen", World.PAYLOAD));
        });

    world.check(
        LIBRARY,
        "trigger of an event and of a batch to an encrypted channel, authenticate for it",
        () -> {
          String channel = "private-encrypted-java";
          String ann = inPrivate(channel);
          done(pusher.trigger(channel, "secret", World.PAYLOAD));
          done(pusher.trigger(List.of(new Event(channel, "batched", World.PAYLOAD))));
          World.same(next(ann, channel), World.event("secret", World.PAYLOAD));
          World.same(next(ann, channel), World.event("batched", World.PAYLOAD));
        });

    world.check(
        LIBRARY,
        "authenticate for a private channel",
        () -> {
          String ann = inPrivate("private-java");
          done(pusher.trigger("private-java", "note", 1));
          World.same(next(ann, "private-java"), World.event("note", 1));
        });

    world.check(
        LIBRARY,
        "authenticate for a presence channel",
        () -> {
          JsonObject data = present("presence-java-signed", "zoë 7");
          World.same(data.get("myID"), "zoë 7");
          World.same(
              data.getAsJsonObject("me").get("info"), Map.of("name", World.PAYLOAD.get("text")));
        });

    world.check(
        LIBRARY,
        "get of channels, with a prefix and with info",
        () -> {
          present("presence-java-listed", "ann");
          JsonObject found =
              done(
                  pusher.get(
                      "/channels",
                      Map.of("filter_by_prefix", "presence-java-listed", "info", "user_count")));
          World.same(
              found,
              Map.of("channels", Map.of("presence-java-listed", Map.of("user_count", 1))));
        });

    world.check(
        LIBRARY,
        "get of one channel, with info",
        () -> {
          present("presence-java-described", "ann");
          JsonObject found =
              done(pusher.get("/channels/presence-java-described", Map.of("info", "user_count")));
          World.same(found, Map.of("occupied", true, "user_count", 1));
        });

    world.check(
        LIBRARY,
        "get of the users of a channel",
        () -> {
          present("presence-java-users", "zoë 7");
          JsonObject found = done(pusher.get("/channels/presence-java-users/users"));
          World.same(found, Map.of("users", List.of(Map.of("id", "zoë 7"))));
        });

    world.check(
        LIBRARY,
        "validateWebhookSignature",
        () -> {
          subscribed("java-webhook");
          JsonObject request =
              world.ask("webhook", "event", "channel_occupied", "channel", "java-webhook");
          JsonObject headers = request.getAsJsonObject("headers");
          String key = headers.get("x-pusher-key").getAsString();
          String signature = headers.get("x-pusher-signature").getAsString();
          String body = request.get("body").getAsString();
          World.same(pusher.validateWebhookSignature(key, signature, body), Validity.VALID);
          World.same(
              pusher.validateWebhookSignature(key, "0".repeat(64), body), Validity.INVALID);
          World.same(
              pusher.validateWebhookSignature(key, signature, body.replace("java-", "go-")),
              Validity.INVALID);
          JsonArray events =
              World.JSON.fromJson(body, JsonObject.class).getAsJsonArray("events");
          World.same(
              events.contains(
                  World.JSON.toJsonTree(
                      Map.of("name", "channel_occupied", "channel", "java-webhook"))),
              true);
        });

    world.check(
        LIBRARY,
        "statuses for what the server refuses",
        () -> {
          World.same(
              pusher("wrong").trigger("a", "b", 1).getStatus(),
              Result.Status.AUTHENTICATION_ERROR);
          World.same(
              pusher.get("/channels/java-no-presence/users").getStatus(),
              Result.Status.CLIENT_ERROR);
        });
  }
}
