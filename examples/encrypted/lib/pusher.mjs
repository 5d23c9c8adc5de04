import Pusher from 'pusher';

/** Encrypts what is sent to channels whose names begin with `private-encrypted-`. Fanfare never has the master key. */
export const pusher = new Pusher({
  appId: '2',
  key: 'notes-key',
  secret: 'notes-secret',
  host: 'localhost',
  port: process.env.FANFARE_PORT ?? '6001',
  useTLS: false,
  encryptionMasterKeyBase64: 'ZXZlcnlib2R5LWtub3dzLXRoaXMtbWFzdGVyLWtleSE=',
});
