import { setPriority } from 'node:os';

/** Answers each byte with a byte, at the priority in the argument, until standard input ends. Prints its port. */

setPriority(Number(process.argv[2]));
const { port } = Bun.listen({
  hostname: '127.0.0.1',
  port: 0,
  socket: { data: (socket, bytes) => void socket.write(bytes) },
});
console.log(port);
for await (const _ of Bun.stdin.stream());
process.exit(0);
