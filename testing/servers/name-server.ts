import { parseAddress } from '../../src/runtime/ip-address.ts';

/** What a name server answers for a name: addresses of the family that was asked for, a failure, or nothing at all. */
export type NameAnswer = readonly string[] | 'unknown' | 'failed' | 'silent';

export interface NameServerOptions {
  readonly answer: (name: string, family: 4 | 6) => NameAnswer;
  /** How long its answers are good for. Seconds. */
  readonly ttlSeconds?: number;
}

/** A name server on this machine. */
export interface NameServer extends AsyncDisposable {
  /** `127.0.0.1:PORT` */
  readonly address: string;
  /** The names that were asked for, one for each question. */
  readonly asked: string[];
}

const CODES = { unknown: 3, failed: 2 } as const;
const TYPES = { 1: 4, 28: 6 } as const;

/** Starts a name server that answers over UDP. */
export async function startNameServer({
  answer,
  ttlSeconds = 60,
}: NameServerOptions): Promise<NameServer> {
  const asked: string[] = [];
  const socket = await Bun.udpSocket({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(self, bytes, port, address) {
        const question = readQuestion(Buffer.from(bytes));
        const family = TYPES[question.type as keyof typeof TYPES];
        asked.push(question.name);
        const found = family === undefined ? 'unknown' : answer(question.name, family);
        if (found !== 'silent') self.send(answerTo(question, found, ttlSeconds), port, address);
      },
    },
  });
  return {
    address: `127.0.0.1:${socket.port}`,
    asked,
    async [Symbol.asyncDispose]() {
      socket.close();
    },
  };
}

interface Question {
  readonly id: Buffer;
  readonly name: string;
  readonly type: number;
  /** The question as it came. */
  readonly bytes: Buffer;
}

/** Source: RFC 1035, 4.1. */
function readQuestion(message: Buffer): Question {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return {
    id: message.subarray(0, 2),
    name: labels.join('.'),
    type: message.readUInt16BE(at + 1),
    bytes: message.subarray(12, at + 5),
  };
}

function answerTo(
  { id, type, bytes }: Question,
  found: Exclude<NameAnswer, 'silent'>,
  ttlSeconds: number,
): Buffer {
  const addresses = typeof found === 'string' ? [] : found.map(addressBytes);
  const flags = Buffer.from([0x81, 0x80 | (typeof found === 'string' ? CODES[found] : 0)]);
  const counts = Buffer.from([0, 1, 0, addresses.length, 0, 0, 0, 0]);
  const records = addresses.map((address) => {
    const head = Buffer.alloc(12);
    // The name is that of the question, at byte 12.
    head.writeUInt16BE(0xc00c, 0);
    head.writeUInt16BE(type, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt32BE(ttlSeconds, 6);
    head.writeUInt16BE(address.length, 10);
    return Buffer.concat([head, address]);
  });
  return Buffer.concat([id, flags, counts, bytes, ...records]);
}

function addressBytes(text: string): Buffer {
  const bytes = parseAddress(text);
  if (bytes === undefined) throw new Error(`${text} is no address`);
  return Buffer.from(bytes);
}
