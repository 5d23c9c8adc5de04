import com.google.gson.JsonObject;
import com.pusher.client.ChannelAuthorizer;
import com.pusher.client.Pusher;
import com.pusher.client.PusherOptions;
import com.pusher.client.UserAuthenticator;
import com.pusher.client.channel.PresenceChannelEventListener;
import com.pusher.client.channel.PrivateChannel;
import com.pusher.client.channel.PrivateEncryptedChannelEventListener;
import com.pusher.client.channel.PusherEvent;
import com.pusher.client.channel.User;
import com.pusher.client.connection.ConnectionEventListener;
import com.pusher.client.connection.ConnectionState;
import com.pusher.client.connection.ConnectionStateChange;
import com.pusher.client.util.HttpChannelAuthorizer;
import com.pusher.client.util.HttpUserAuthenticator;
import com.pusher.rest.data.PresenceUser;
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** pusher-java-client, the client for Java and Android. */
final class ChannelsClient {
  private static final String LIBRARY = "pusher-java-client";

  private final World world;
  private final ChannelsServer backend;
  private String endpoint;

  ChannelsClient(World world, ChannelsServer backend) {
    this.world = world;
    this.backend = backend;
  }

  /** A connected client, and what it receives. */
  private final class Client implements AutoCloseable {
    final Pusher pusher;
    final World.Inbox states = new World.Inbox();
    final World.Inbox errors = new World.Inbox();

    Client(String key, String user, boolean useTls) {
      this(key, useTls, authorizerOf(user), authenticatorOf(user));
    }

    /** With the authorizer and authenticator of an app. */
    Client(ChannelAuthorizer authorizer, UserAuthenticator authenticator) throws Exception {
      this(world.appText("key"), false, authorizer, authenticator);
      while (states.next() != ConnectionState.CONNECTED)
        ;
    }

    private Client(
        String key, boolean useTls, ChannelAuthorizer authorizer, UserAuthenticator authenticator) {
      pusher =
          new Pusher(
              key,
              new PusherOptions()
                  .setHost("localhost")
                  .setWsPort(world.told.get("port").getAsInt())
                  .setWssPort(world.told.get("tlsPort").getAsInt())
                  .setUseTLS(useTls)
                  .setChannelAuthorizer(authorizer)
                  .setUserAuthenticator(authenticator));
      pusher.connect(
          new ConnectionEventListener() {
            @Override
            public void onConnectionStateChange(ConnectionStateChange change) {
              states.put(change.getCurrentState());
            }

            @Override
            public void onError(String message, String code, Exception problem) {
              errors.put(code + " " + message);
            }
          },
          ConnectionState.ALL);
    }

    Client(String user) throws Exception {
      this(user, false);
    }

    Client(String user, boolean useTls) throws Exception {
      this(world.appText("key"), user, useTls);
      while (states.next() != ConnectionState.CONNECTED)
        ;
    }

    String socketId() {
      return pusher.getConnection().getSocketId();
    }

    @Override
    public void close() {
      pusher.disconnect();
    }
  }

  private ChannelAuthorizer authorizerOf(String user) {
    HttpChannelAuthorizer authorizer = new HttpChannelAuthorizer(endpoint);
    authorizer.setHeaders(Map.of("x-user", user));
    return authorizer;
  }

  private UserAuthenticator authenticatorOf(String user) {
    HttpUserAuthenticator authenticator = new HttpUserAuthenticator(endpoint);
    authenticator.setHeaders(Map.of("x-user", user));
    return authenticator;
  }

  /** Authorises every channel in the same way, without a request: the client must have a member for presence channels. */
  private static ChannelAuthorizer always(String auth, String user) {
    return (channel, socketId) ->
        World.JSON.toJson(
            channel.startsWith("presence-")
                ? Map.of("auth", auth, "channel_data", World.JSON.toJson(Map.of("user_id", user)))
                : Map.of("auth", auth));
  }

  private static final Map<String, Object> GRANTED =
      Map.of("private-jc-team-*", List.of("subscribe"), "presence-jc-team", List.of("subscribe"));

  /** A token of a user, signed as a backend does it. */
  private String token(String user) throws Exception {
    long endsAt = System.currentTimeMillis() / 1000 + 600;
    String head = World.JSON.toJson(Map.of("alg", "HS256", "kid", world.appText("key")));
    String claims =
        World.JSON.toJson(
            Map.of("sub", user, "user_info", World.PAYLOAD, "channels", GRANTED, "exp", endsAt));
    Base64.Encoder base64 = Base64.getUrlEncoder().withoutPadding();
    String text =
        String.join(
            ".", base64.encodeToString(head.getBytes()), base64.encodeToString(claims.getBytes()));
    return text + "." + base64.encodeToString(hmac(text));
  }

  private byte[] hmac(String text) throws GeneralSecurityException {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(world.appText("secret").getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
    return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Waits until the server has handled what the client has sent so far. */
  private static void turn(Client client) throws Exception {
    Listener heard = new Listener();
    client.pusher.subscribe("jc-turn", heard);
    heard.succeeded.next();
    client.pusher.unsubscribe("jc-turn");
  }

  /** Enters three channels, and hears an event in one of them. */
  private void enterTeam(Client client, String user) throws Exception {
    Listener first = new Listener();
    Listener second = new Listener();
    Listener team = new Listener();
    client.pusher.subscribePrivate("private-jc-team-1", first, "paid");
    client.pusher.subscribePrivate("private-jc-team-2", second);
    client.pusher.subscribePresence("presence-jc-team", team);
    first.succeeded.next();
    second.succeeded.next();
    World.same(team.members.next(), "here [" + user + "]");
    World.same(
        client.pusher.getPresenceChannel("presence-jc-team").getMe().getInfo(Map.class),
        World.PAYLOAD);
    backend.done(backend.pusher.trigger("private-jc-team-1", "paid", World.PAYLOAD));
    World.same(first.next("paid"), World.PAYLOAD);
  }

  /** Keeps what a channel tells. */
  private static final class Listener
      implements PresenceChannelEventListener, PrivateEncryptedChannelEventListener {
    final World.Inbox events = new World.Inbox();
    final World.Inbox succeeded = new World.Inbox();
    final World.Inbox failed = new World.Inbox();
    final World.Inbox members = new World.Inbox();

    @Override
    public void onEvent(PusherEvent event) {
      events.put(event);
    }

    @Override
    public void onSubscriptionSucceeded(String channel) {
      succeeded.put(channel);
    }

    @Override
    public void onAuthenticationFailure(String message, Exception problem) {
      failed.put(message);
    }

    @Override
    public void onDecryptionFailure(String event, String reason) {
      failed.put(event + ": " + reason);
    }

    @Override
    public void onUsersInformationReceived(String channel, Set<User> users) {
      members.put("here " + ids(users));
    }

    @Override
    public void userSubscribed(String channel, User user) {
      members.put("joined " + user.getId());
    }

    @Override
    public void userUnsubscribed(String channel, User user) {
      members.put("left " + user.getId());
    }

    /** The data of the next event, which must have this name. */
    Object next(String name) throws Exception {
      PusherEvent event = (PusherEvent) events.next();
      World.same(event.getEventName(), name);
      return World.JSON.fromJson(event.getData(), Object.class);
    }
  }

  private static Set<String> ids(Set<User> users) {
    return users.stream().map(User::getId).collect(Collectors.toCollection(TreeSet::new));
  }

  /** The endpoint that authorises, by the library for servers, whoever is named in a header; and refuses `nobody`. */
  private HttpServer serve() throws Exception {
    HttpServer http = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    http.createContext(
        "/",
        exchange -> {
          String user = exchange.getRequestHeaders().getFirst("x-user");
          Map<String, String> form = new HashMap<>();
          String sent = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
          for (String field : sent.split("&")) {
            String[] pair = field.split("=", 2);
            form.put(pair[0], URLDecoder.decode(pair[1], StandardCharsets.UTF_8));
          }
          byte[] answer =
              signed(form.get("socket_id"), form.get("channel_name"), user)
                  .getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(user.equals("nobody") ? 403 : 200, answer.length);
          exchange.getResponseBody().write(answer);
          exchange.close();
        });
    http.start();
    return http;
  }

  private String signed(String socketId, String channel, String user) {
    if (channel == null) return signedIn(socketId, user);
    return channel.startsWith("presence-")
        ? backend.pusher.authenticate(socketId, channel, new PresenceUser(user, World.PAYLOAD))
        : backend.pusher.authenticate(socketId, channel);
  }

  private String signedIn(String socketId, String user) {
    return signedIn(socketId, Map.of("id", user));
  }

  /** The library for servers has no method for this. */
  private String signedIn(String socketId, Map<String, Object> user) {
    try {
      String data = World.JSON.toJson(user);
      StringBuilder signature = new StringBuilder();
      for (byte one : hmac(socketId + "::user::" + data)) signature.append(String.format("%02x", one));
      return World.JSON.toJson(
          Map.of("auth", world.appText("key") + ":" + signature, "user_data", data));
    } catch (GeneralSecurityException problem) {
      throw new IllegalStateException(problem);
    }
  }

  void run() throws Exception {
    HttpServer http = serve();
    endpoint = "http://127.0.0.1:" + http.getAddress().getPort() + "/";

    world.check(
        LIBRARY,
        "events of a public channel",
        () -> {
          try (Client ann = new Client("ann")) {
            Listener heard = new Listener();
            ann.pusher.subscribe("jc-public", heard, "paid");
            heard.succeeded.next();
            backend.done(backend.pusher.trigger("jc-public", "paid", World.PAYLOAD));
            World.same(heard.next("paid"), World.PAYLOAD);
          }
        });

    world.check(
        LIBRARY,
        "a private channel with HttpChannelAuthorizer",
        () -> {
          try (Client ann = new Client("ann")) {
            Listener heard = new Listener();
            ann.pusher.subscribePrivate("private-jc", heard, "paid");
            heard.succeeded.next();
            backend.done(backend.pusher.trigger("private-jc", "paid", World.PAYLOAD));
            World.same(heard.next("paid"), World.PAYLOAD);
          }
        });

    world.check(
        LIBRARY,
        "onAuthenticationFailure where the endpoint refuses",
        () -> {
          try (Client nobody = new Client("nobody")) {
            Listener heard = new Listener();
            nobody.pusher.subscribePrivate("private-jc", heard);
            heard.failed.next();
          }
        });

    world.check(
        LIBRARY,
        "an encrypted channel",
        () -> {
          String channel = "private-encrypted-jc";
          try (Client ann = new Client("ann")) {
            Listener heard = new Listener();
            ann.pusher.subscribePrivateEncrypted(channel, heard, "secret");
            heard.succeeded.next();
            backend.done(backend.pusher.trigger(channel, "secret", World.PAYLOAD));
            World.same(heard.next("secret"), World.PAYLOAD);
          }
        });

    world.check(
        LIBRARY,
        "the members of a presence channel, who come and go",
        () -> {
          String channel = "presence-jc";
          try (Client ann = new Client("ann")) {
            Listener heard = new Listener();
            ann.pusher.subscribePresence(channel, heard);
            World.same(heard.members.next(), "here [ann]");
            JsonObject bob = backend.present(channel, "bob");
            World.same(heard.members.next(), "joined bob");
            World.same(ids(ann.pusher.getPresenceChannel(channel).getUsers()), List.of("ann", "bob"));
            World.same(
                ann.pusher.getPresenceChannel(channel).getMe().getInfo(Map.class), World.PAYLOAD);
            world.ask("disconnect", "socketId", bob.get("socketId").getAsString());
            World.same(heard.members.next(), "left bob");
          }
        });

    world.check(
        LIBRARY,
        "client events, sent and received, with the user of the sender",
        () -> {
          String channel = "presence-jc-talk";
          try (Client ann = new Client("ann")) {
            Listener heard = new Listener();
            PrivateChannel talk = ann.pusher.subscribePresence(channel, heard, "client-said");
            heard.succeeded.next();
            String bob = backend.present(channel, "bob").get("socketId").getAsString();
            heard.members.next();
            talk.trigger("client-said", World.JSON.toJson(World.PAYLOAD));
            World.same(backend.next(bob, channel), World.event("client-said", World.PAYLOAD));
            world.ask(
                "clientEvent", "socketId", bob, "channel", channel, "event", "client-said", "data", "{\"a\":1}");
            PusherEvent said = (PusherEvent) heard.events.next();
            World.same(List.of(said.getUserId(), said.getData()), List.of("bob", "{\"a\":1}"));
          }
        });

    world.check(
        LIBRARY,
        "signin, events for the user, and an end by terminate_connections of pusher-http-java",
        () -> {
          try (Client ann = new Client("jc-ann")) {
            World.Inbox notes = new World.Inbox();
            ann.pusher.user().bind("note", (PusherEvent event) -> notes.put(event.getData()));
            ann.pusher.signin();
            // The client asks its endpoint first, and tells nobody when it is signed in.
            long untilNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
            while (ann.pusher.user().userId() == null) {
              if (System.nanoTime() > untilNanos) throw new AssertionError("not signed in");
              turn(ann);
            }
            // Only then it subscribes to the channel of the user, on its own thread.
            turn(ann);
            backend.done(
                backend.pusher.post(
                    "/events",
                    "{\"name\":\"note\",\"channels\":[\"#server-to-user-jc-ann\"],\"data\":\"1\"}"));
            World.same(notes.next(), "1");
            backend.done(backend.pusher.post("/users/jc-ann/terminate_connections", "{}"));
            World.same(((String) ann.errors.next()).substring(0, 4), "4009");
          }
        });

    world.check(
        LIBRARY,
        "a sign-in with grants opens private and presence channels, without a request for any",
        () -> {
          Map<String, Object> user =
              Map.of(
                  "id", "jc-grant", "user_info", World.PAYLOAD, "grants", Map.of("channels", GRANTED));
          ChannelAuthorizer authorizer = always("", "jc-grant");
          try (Client client = new Client(authorizer, socketId -> signedIn(socketId, user))) {
            client.pusher.signin();
            enterTeam(client, "jc-grant");
          }
        });

    world.check(
        LIBRARY,
        "a token from the ChannelAuthorizer opens private and presence channels, and signs its user in",
        () -> {
          ChannelAuthorizer authorizer = always(token("jc-token"), "jc-token");
          try (Client client = new Client(authorizer, authenticatorOf("nobody"))) {
            enterTeam(client, "jc-token");
            backend.done(backend.pusher.post("/users/jc-token/terminate_connections", "{}"));
            World.same(((String) client.errors.next()).substring(0, 4), "4009");
          }
        });

    world.check(
        LIBRARY,
        "an error of the connection where no grant covers the channel",
        () -> {
          ChannelAuthorizer authorizer = always(token("jc-token"), "jc-token");
          try (Client client = new Client(authorizer, authenticatorOf("nobody"))) {
            Listener heard = new Listener();
            client.pusher.subscribePrivate("private-jc-other", heard);
            World.same(client.errors.next(), "null No grant of this connection covers private-jc-other");
          }
        });

    world.check(
        LIBRARY,
        "unsubscribe",
        () -> {
          try (Client ann = new Client("ann")) {
            Listener left = new Listener();
            ann.pusher.subscribe("jc-left", left);
            left.succeeded.next();
            ann.pusher.unsubscribe("jc-left");
            Listener stays = new Listener();
            ann.pusher.subscribe("jc-stays", stays);
            stays.succeeded.next();
            World.same(
                backend.done(backend.pusher.get("/channels/jc-left")).get("occupied"), false);
          }
        });

    world.check(
        LIBRARY,
        "a quiet client stays connected where one that answers no ping is closed",
        () -> {
          try (Client ann = new Client("ann")) {
            Listener heard = new Listener();
            ann.pusher.subscribe("jc-quiet", heard, "note");
            heard.succeeded.next();
            String socketId = ann.socketId();
            World.same(world.ask("silence").get("code"), 4201);
            backend.done(backend.pusher.trigger("jc-quiet", "note", World.PAYLOAD));
            World.same(heard.next("note"), World.PAYLOAD);
            World.same(ann.socketId(), socketId);
          }
        });

    world.check(
        LIBRARY,
        "a private channel over TLS, triggered by pusher-http-java over TLS",
        () -> {
          try (Client ann = new Client("ann", true)) {
            Listener heard = new Listener();
            ann.pusher.subscribePrivate("private-jc-tls", heard, "paid");
            heard.succeeded.next();
            backend.done(backend.secure().trigger("private-jc-tls", "paid", World.PAYLOAD));
            World.same(heard.next("paid"), World.PAYLOAD);
          }
        });

    world.check(
        LIBRARY,
        "an unknown key ends the connection for good",
        () -> {
          try (Client stranger = new Client("unknown", "ann", false)) {
            World.same(((String) stranger.errors.next()).substring(0, 4), "4001");
            while (stranger.states.next() != ConnectionState.DISCONNECTED)
              ;
          }
        });

    http.stop(0);
  }
}
