/** Where Fanfare and the backend are. The values are those of fanfare.yaml. */
const { FANFARE_PORT = '6001', BACKEND_PORT = '3000' } = process.env;

export const fanfare = { host: 'localhost', port: FANFARE_PORT };
export const backendPort = Number(BACKEND_PORT);
export const app = { id: '1', key: 'chat-key', secret: 'chat-secret' };
