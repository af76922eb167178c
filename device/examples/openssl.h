/* `uqrp_verify` over OpenSSL, for machines that have it. Firmware has Monocypher or its vendor's Ed25519 there. Link with -lcrypto. */
#ifndef UQRP_EXAMPLES_OPENSSL_H
#define UQRP_EXAMPLES_OPENSSL_H

#include "uqrp.h"

#include <openssl/evp.h>

int uqrp_verify(const uint8_t *signature, const uint8_t *key, const uint8_t *message, size_t size) {
  EVP_PKEY *const pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, 32);
  EVP_MD_CTX *const ctx = EVP_MD_CTX_new();
  const int good = pkey != NULL && ctx != NULL && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, pkey) == 1 &&
                   EVP_DigestVerify(ctx, signature, 64, message, size) == 1;
  EVP_MD_CTX_free(ctx);
  EVP_PKEY_free(pkey);
  return good;
}

#endif
