import { STATUS_CODES } from 'node:http';

/** The headers of an answer. */
export type AnswerHeaders = Readonly<Record<string, string | number>>;

let dateSeconds = 0;
let date = '';

/** The `Date` header of now. */
function dateLine(): string {
  const seconds = Math.floor(Date.now() / 1000);
  if (seconds !== dateSeconds) {
    dateSeconds = seconds;
    date = `date: ${new Date(seconds * 1000).toUTCString()}\r\n`;
  }
  return date;
}

/** What would end a header, and begin another one. */
const LINE_END = /[\r\n\0]/;

/** The bytes of an answer. `body` is `undefined` if there must be none. Throws if a header cannot be sent. */
export function answerBytes(
  status: number,
  headers: AnswerHeaders,
  body: string | undefined,
): Buffer {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${dateLine()}`;
  for (const name in headers) {
    const line = `${name}: ${headers[name]}`;
    if (LINE_END.test(line)) throw new Error(`The header ${name} has the end of a line`);
    head += `${line}\r\n`;
  }
  return Buffer.from(`${head}\r\n${body ?? ''}`);
}
