/** The URL of a listener as programs on its own machine reach it. */
export function ownAddress({
  host,
  port,
  tls,
}: {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}): string {
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const name = reached.includes(':') ? `[${reached}]` : reached;
  return `${tls ? 'https' : 'http'}://${name}:${port}`;
}
