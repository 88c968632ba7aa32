import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '@sluice/redis';

const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgvzhVjP32N/Fwo92S
dv4FpAgfu7L78mM/hpB/ZIrgKaahRANCAARwLQG9WkXbCpbHiO3NljJ2lCWSuw8/
QkG1BFOx/ryaaQk/Y+leVRR9ELqpg/ZNZRx6ZuvVo24eQ5vOgo8vaXvW
-----END PRIVATE KEY-----`;

/** What the encrypted servers of tests show: it is for `localhost` and for no IP address, and signed by itself. */
export const redisCertificate = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUMI17LXuJ1mswgCdQM+YJwvBJOccwCgYIKoZIzj0EAwIw
FzEVMBMGA1UEAwwMc2x1aWNlIHRlc3RzMCAXDTI2MTEyMjIyNTI1M1oYDzIxMjYx
MDI5MjI1MjUzWjAXMRUwEwYDVQQDDAxzbHVpY2UgdGVzdHMwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAARwLQG9WkXbCpbHiO3NljJ2lCWSuw8/QkG1BFOx/ryaaQk/
Y+leVRR9ELqpg/ZNZRx6ZuvVo24eQ5vOgo8vaXvWo2kwZzAdBgNVHQ4EFgQUYh1r
8ULxsDoqzQuqvLdeIwpnoEswHwYDVR0jBBgwFoAUYh1r8ULxsDoqzQuqvLdeIwpn
oEswDwYDVR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZI
zj0EAwIDSAAwRQIgTCP8JNu2fbaryLFQT3pLP4HlSjSMsJx1L/jcPax+p8ECIQDC
dp2OFWqDI4A6KdZLHMb2r5nG0bY0WrwJNVOCxvrOHg==
-----END CERTIFICATE-----`;

/** What makes a server listen by TLS. */
export interface Encryption {
  /** Where it listens so. */
  port: number;
  settings: [name: string, value: string][];
}

/** Lays key and certificate down until `stack` ends. What it resolves with is called once for each server. */
export async function prepareEncryption(stack: AsyncDisposableStack): Promise<() => Promise<Encryption>> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-test-redis-tls-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const keyFile = join(directory, 'key.pem');
  const certificateFile = join(directory, 'certificate.pem');
  await writeFile(keyFile, key, { mode: 0o600 });
  await writeFile(certificateFile, redisCertificate);
  return async () => {
    const port = await findFreePort();
    const settings: Encryption['settings'] = [
      ['tls-port', String(port)],
      ['tls-key-file', keyFile],
      ['tls-cert-file', certificateFile],
      ['tls-auth-clients', 'no'],
      // What servers and sentinels say to each other.
      ['tls-ca-cert-file', certificateFile],
      ['tls-replication', 'yes'],
      ['tls-cluster', 'yes'],
    ];
    return { port, settings };
  };
}

/** As a server takes it on its command line. */
export function encryptionArguments(encryption: Encryption | undefined): string[] {
  return encryption?.settings.flatMap(([name, value]) => [`--${name}`, value]) ?? [];
}
