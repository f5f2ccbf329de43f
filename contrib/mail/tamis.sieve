# Files what tamis calls spam in the folder Junk, in Dovecot (Pigeonhole) with its plugin sieve_extprograms.
#
# In Dovecot's settings: sieve_plugins = sieve_extprograms, sieve_global_extensions = +vnd.dovecot.filter, and
# sieve_filter_bin_dir a folder with a link to tamis in it. If tamis fails, the message goes on as it came.

require ["vnd.dovecot.filter", "fileinto"];

filter "tamis" ["score", "--passthrough"];

if header :is "X-Spam-Flag" "YES" {
    fileinto "Junk";
    stop;
}
