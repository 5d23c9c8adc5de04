/** Checks the libraries of Pusher for Java against a running server. The argument is JSON of ../scene.ts. */
final class Main {
  public static void main(String[] arguments) throws Exception {
    World world = new World(arguments[0]);
    ChannelsServer backend = new ChannelsServer(world);
    backend.run();
    new ChannelsClient(world, backend).run();
    new Beams(world).run();
    // Threads of the libraries would keep the process.
    System.exit(0);
  }
}
